//! The cues and labels of Spanish.

use super::{Cue, Label, Language};

pub(super) const SPANISH: Language = Language {
    cues: CUES,
    labels: LABELS,
};

#[rustfmt::skip]
const CUES: &[(Cue, &[&str])] = &[
    (Cue::Decision, &[
        "decidimos", "hemos decidido", "decidido", "decisión", "decision:", "acordamos", "acordado",
        "quedamos en", "nos quedamos", "vamos con", "usamos", "usaremos", "a partir de ahora",
        "desde ahora", "de ahora en adelante", "en vez de", "en lugar de", "nos pasamos", "pasamos a",
        "cambiamos a", "elegimos", "se aprueba", "aprobado", "volvemos a", "nuevo:", "aprobada",
        "queda en", "se queda en", "a partir de",
    ]),
    (Cue::Leaning, &[
        "entonces", "solo", "usa", "mejor",
    ]),
    (Cue::Rule, &[
        "no hay que", "no debe", "no debes", "recuerda", "recuerda:", "acuérdate", "importante:",
        "regla:", "evita", "evitar", "sin excepción", "prohibido", "no toques", "no uses", "no cambies",
        "ni se te ocurra", "obligatorio", "en español", "en este proyecto", "en este repo",
        "en todas partes", "apúntalo", "apunta", "confidencial",
    ]),
    (Cue::Frequency, &[
        "siempre", "nunca", "jamás",
    ]),
    (Cue::Wish, &[
        "solo", "sólo", "cada", "por favor", "ninguna", "ningún", "hay que", "debe", "deben", "nada de",
        "al menos", "como mucho", "como máximo",
    ]),
    (Cue::Task, &[
        "por hacer", "pendiente", "pendientes", "pendiente:", "tarea:", "tareas:", "siguiente paso",
        "próximo paso", "quedan por", "sin hacer", "fecha límite", "no olvidar", "esperando",
    ]),
    (Cue::Need, &[
        "falta", "faltan", "hay que", "plazo", "aún no", "todavía no", "queda por",
    ]),
    (Cue::Done, &[
        "hecho", "hecha", "listo", "lista", "cerrado", "cerrada", "terminado", "terminada", "resuelto",
        "resuelta", "arreglado", "arreglada", "completado", "completada", "enviado", "enviada",
        "funciona", "ya está", "solucionado", "entregado", "entregada", "se puede quitar", "comprados",
        "comprado", "comprada", "instalados", "instalado", "instalada", "vuelve a funcionar",
    ]),
    (Cue::NotDone, &[
        "no está hecho", "aún no", "todavía no",
    ]),
    (Cue::Condition, &[
        "cuando", "si", "en cuanto",
    ]),
    (Cue::Change, &[
        "a partir de ahora", "desde ahora", "en vez de", "en lugar de", "ya no", "al final", "mejor",
        "cambiamos", "cambio de", "volvemos", "pasamos a", "nos pasamos", "descartamos", "fuera",
    ]),
    (Cue::Final, &[
        "al final", "finalmente",
    ]),
    (Cue::Provisional, &[
        "por ahora", "de momento",
    ]),
    (Cue::Yes, &[
        "sí", "de acuerdo", "perfecto", "hazlo", "adelante", "exacto", "venga", "dale",
        "me parece bien", "si,",
    ]),
    (Cue::Okay, &[
        "bien", "bueno", "vale", "genial", "correcto", "claro",
    ]),
    (Cue::No, &[
        "ni hablar", "nada de", "mejor no", "para nada", "de ninguna manera", "qué va",
    ]),
    (Cue::Proposal, &[
        "propongo", "sugiero", "recomiendo", "quieres que", "propuesta", "yo usaría",
    ]),
    (Cue::Possible, &[
        "podría", "podríamos", "podemos", "opciones", "convendría", "se puede", "puedo",
    ]),
    (Cue::Choice, &[
        "o", "qué usamos", "cuál", "deberíamos", "usamos",
    ]),
    (Cue::Question, &[
        "qué", "que es", "por qué", "cómo", "dónde", "cuándo", "quién", "cuál", "puedes", "podemos",
        "hay alguna", "cuánto", "se puede",
    ]),
    (Cue::Result, &[
        "hecho", "añadí", "añadido", "agregué", "corregí", "corregido", "cambié", "cambiado", "creé",
        "creado", "migré", "migrado", "instalé", "actualicé", "actualizado", "eliminé", "pasan",
        "listo", "probado", "falta", "pendiente", "aún no", "todavía no", "subido", "desplegado",
        "implementé", "moví", "escribí", "arreglado", "arreglé",
    ]),
    (Cue::Role, &[
        "responsable", "encargad*", "jefe", "jefa", "cliente", "dueño", "dueña", "directora",
        "coordinador*", "contacto", "contacto:", "equipo", "equipo:", "decide", "profesor*", "tutor",
        "tutora", "quién es quién", "contable", "abogad*", "mi mujer", "mi marido", "compañer*",
        "diseñador*", "traductor*", "editora",
    ]),
    (Cue::Duty, &[
        "se encarga", "lleva", "mantiene", "revisa", "firma",
    ]),
    (Cue::Deadline, &[
        "antes del", "hasta el", "hasta", "plazo", "objetivo", "meta:", "entrega",
    ]),
    (Cue::Contrast, &[
        "no", "sin", "ni",
    ]),
    (Cue::Trouble, &[
        "falla*", "roto", "rota", "se cuelga", "mal", "quemad*", "perdid*", "muert*", "peor",
    ]),
    (Cue::Idle, &[
        "da igual", "no importa", "me acuerdo", "te acuerdas", "como siempre", "siempre se me",
        "yo siempre", "nunca había", "nunca me", "he decidido irme", "olvídalo", "siempre me",
        "sin problema", "decidí", "he decidido",
    ]),
    (Cue::Undecided, &[
        "no sé todavía", "no lo sé", "ya veremos", "estaba pensando", "aún no decid*",
        "todavía no decid*", "lo pienso", "pensando en voz alta", "algún día", "quizás", "quizá",
        "tal vez", "idea:",
    ]),
    (Cue::Draft, &[
        "traduce", "este correo", "esta carta", "este texto", "revisa este", "corrige este",
    ]),
    (Cue::Pronoun, &[
        "yo", "él", "ella", "eso", "esto", "mi",
    ]),
    (Cue::Chat, &[
        "gracias", "hola", "adiós", "buenos días", "hasta luego",
    ]),
    (Cue::Preference, &[
        "prefiero", "preferimos", "no quiero", "no me gusta",
    ]),
    (Cue::Stop, &[
        "deja de", "dejad de", "basta de",
    ]),
    (Cue::Joke, &[
        "jaja", "jajaja", "jeje", "es broma", "qué podría salir mal", "qué puede salir mal",
        "sí, claro", "qué bien",
    ]),
    (Cue::Praise, &[
        "genial", "qué bien", "estupendo", "perfecto", "fantástico", "maravilloso",
    ]),
    (Cue::Myself, &[
        "yo", "mi",
    ]),
];

#[rustfmt::skip]
const LABELS: &[(Label, &[&str])] = &[
    (Label::Decision, &[
        "decisión", "decisiones", "acuerdo", "acuerdos", "acordado", "decidido", "se decide",
        "resoluciones",
    ]),
    (Label::Rule, &[
        "regla", "reglas", "convenciones", "normas", "principios", "preferencias", "importante",
        "recordar", "recuerda",
    ]),
    (Label::Task, &[
        "tarea", "tareas", "pendiente", "pendientes", "por hacer", "próximos pasos", "siguientes pasos",
        "acciones", "falta", "faltan",
    ]),
    (Label::Person, &[
        "equipo", "personas", "contactos", "quién es quién", "responsables",
    ]),
];
