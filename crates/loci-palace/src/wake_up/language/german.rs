//! The cues and labels of German.

use super::{Cue, Label, Language};

pub(super) const GERMAN: Language = Language {
    cues: CUES,
    labels: LABELS,
};

#[rustfmt::skip]
const CUES: &[(Cue, &[&str])] = &[
    (Cue::Decision, &[
        "beschlossen", "beschluss*", "entschieden:", "entscheidung*", "haben entschieden", "wir nehmen",
        "nehmen wir", "wir bleiben", "bleiben bei", "ich bleib*", "wir steigen", "steigen um",
        "ziehen um", "wir ziehen", "wir verwenden", "wir nutzen", "ab jetzt", "ab sofort", "ab heute",
        "von nun an", "einigten uns", "vereinbart*", "es bleibt", "bleibt bei", "bleibt es",
        "wir setzen auf", "setzen auf", "wird es", "festgelegt", "wir wechseln", "umstellen auf",
        "stellen um", "statt", "fällt weg", "fliegt raus", "steht fest", "abgemacht", "wir einigen",
        "wir machen es", "wir machen das", "zurück zu", "neu:", "freigegeben", "abgesegnet",
        "abgenommen",
    ]),
    (Cue::Leaning, &[
        "dann", "nur", "nimm", "behalten", "lass", "einfach",
    ]),
    (Cue::Rule, &[
        "nicht mehr", "auf keinen fall", "keinesfalls", "darf nicht", "dürfen nicht", "merk dir",
        "merke dir", "merken:", "denk daran", "wichtig:", "regel:", "grundsätzlich", "nur noch",
        "vermeide*", "ausschließlich", "immer nur", "in diesem repo", "in diesem projekt", "überall",
        "schreib das auf", "vertraulich",
    ]),
    (Cue::Frequency, &[
        "immer", "nie", "niemals", "stets",
    ]),
    (Cue::Wish, &[
        "bitte", "kein", "keine", "jede", "jeder", "ich will", "muss", "müssen", "darf", "künftig",
        "höchstens", "mindestens", "lieber", "wichtig",
    ]),
    (Cue::Task, &[
        "zu erledigen", "erledigen:", "offen:", "noch offen", "aufgabe:", "aufgaben:", "als nächstes",
        "nächster schritt", "nächste schritte", "muss noch", "müssen noch", "noch zu", "fehlt noch",
        "fehlen noch", "steht noch aus", "ausstehend", "nicht vergessen", "warten auf",
        "bis spätestens",
    ]),
    (Cue::Need, &[
        "offen", "fehlt", "abgabe", "frist", "noch nicht",
    ]),
    (Cue::Done, &[
        "erledigt", "fertig", "geschlossen", "abgeschlossen", "behoben", "gelöst", "gemacht",
        "ist drin", "läuft", "sind da", "ist da", "umgesetzt", "eingebaut", "verschickt", "bestellt",
        "bezahlt", "geklärt", "abgehakt", "eingereicht", "kann weg", "ist live", "wieder ok",
        "wieder gut",
    ]),
    (Cue::NotDone, &[
        "nicht fertig", "noch nicht", "ungetestet",
    ]),
    (Cue::Condition, &[
        "wenn", "falls", "bevor", "sobald",
    ]),
    (Cue::Change, &[
        "ab jetzt", "ab sofort", "statt", "stattdessen", "nicht mehr", "doch nicht", "doch lieber",
        "doch", "umsteigen", "steigen auf", "steigen um", "ziehen um", "wechseln", "zurück zu",
        "fällt weg", "ersetzt", "geändert", "umstellen",
    ]),
    (Cue::Final, &[
        "letztlich", "am ende", "doch lieber",
    ]),
    (Cue::Provisional, &[
        "erstmal", "vorerst", "vorläufig",
    ]),
    (Cue::Yes, &[
        "ja", "jo", "genau", "einverstanden", "mach das", "mach", "machen wir", "gerne", "los",
        "ok los", "so machen wir", "in ordnung",
    ]),
    (Cue::Okay, &[
        "gut", "super", "passt", "klar", "stimmt", "perfekt",
    ]),
    (Cue::No, &[
        "nein", "nee", "nö", "auf keinen fall", "lieber nicht", "quatsch", "zu viel", "zu teuer",
        "nicht",
    ]),
    (Cue::Proposal, &[
        "ich schlage vor", "schlage vor", "vorschlag", "ich empfehle", "empfehle", "ich könnte",
        "soll ich", "ich würde", "wie wäre",
    ]),
    (Cue::Possible, &[
        "könnte", "könnten", "möglich wäre", "alternativ", "optionen", "ich kann",
    ]),
    (Cue::Choice, &[
        "oder", "sollen wir", "soll ich", "welche*", "wie gehen wir", "was spricht",
    ]),
    (Cue::Question, &[
        "was", "warum", "wieso", "wie", "wo", "wann", "wer", "welche*", "kannst du", "können wir",
        "gibt es", "weißt du", "ist das", "hast du", "soll", "sollen",
    ]),
    (Cue::Result, &[
        "erledigt", "fertig", "umgestellt", "angelegt", "ergänzt", "entfernt", "geändert", "erzeugt",
        "eingebaut", "hinzugefügt", "behoben", "geprüft", "getestet", "gemessen", "übernommen",
        "gespeichert", "installiert", "migriert", "korrigiert", "geschrieben", "noch nicht", "fehlt",
        "ungetestet", "habe ich", "ich habe", "läufe", "laufen jetzt",
    ]),
    (Cue::Role, &[
        "betreuer*", "gutachter*", "erstgutachten", "zweitgutachter*", "chef", "chefin", "leiter",
        "leiterin", "ansprechpartner*", "kunde", "kundin", "kollege", "kollegin", "meine frau",
        "mein mann", "vermieter*", "architekt*", "lehrer*", "macht die", "macht das", "macht den",
        "vorstand", "kassier*", "hausmeister*", "nachbar*", "wer ist wer",
    ]),
    (Cue::Duty, &[
        "zuständig", "verantwortlich", "kümmert sich", "betreut", "pflegt", "entscheidet",
    ]),
    (Cue::Deadline, &[
        "bis zum", "bis ende", "abgabe", "frist", "spätestens", "termin", "ziel:", "ziel",
    ]),
    (Cue::Contrast, &[
        "nicht", "kein*", "ohne", "statt",
    ]),
    (Cue::Trouble, &[
        "kaputt", "fehler*", "bricht", "abstürz*", "hängt", "falsch", "quatsch", "friert", "verloren",
        "verbrannt", "tot", "schlimmer",
    ]),
    (Cue::Idle, &[
        "immer noch", "immer wieder", "wie immer", "immer wenn", "entschieden, heute",
        "mich entschieden", "egal", "nie wieder", "noch nie", "vergiss es", "schon gut",
        "ich vergesse immer", "ich erinnere mich", "erinnerst du dich", "keine ahnung", "kein problem",
        "keine sorge", "keine eile", "hab mich entschieden", "habe mich entschieden",
    ]),
    (Cue::Undecided, &[
        "weiß noch nicht", "mal sehen", "nur so ein gedanke", "noch nicht entschieden", "ich überlege",
        "überlege noch", "warte mal", "doch nicht, vergiss es", "irgendwann", "idee:",
        "vielleicht könnte*", "vielleicht sollte*", "eines tages",
    ]),
    (Cue::Draft, &[
        "übersetz*", "korrigier*", "diese mail", "diese e-mail", "diesen brief", "diesen text",
        "formulier*",
    ]),
    (Cue::Pronoun, &[
        "ich", "er", "sie", "es", "das", "mein", "meine", "ich bin", "ich hab",
    ]),
    (Cue::Chat, &[
        "danke", "danke dir", "schönes wochenende", "guten morgen", "hallo", "tschüss", "feierabend",
        "servus",
    ]),
    (Cue::Preference, &[
        "ich möchte nicht", "möchte ich nicht", "ich will nicht", "bevorzuge", "mir ist lieber",
        "ich mag nicht",
    ]),
    (Cue::Stop, &[
        "hör auf", "hört auf", "schluss mit",
    ]),
    (Cue::Joke, &[
        "haha", "hihi", "lol", "na toll", "na super", "ganz toll", "super idee", "tolle idee",
        "wie schön", "war nur spaß", "spaß beiseite", "was soll schon schiefgehen",
    ]),
    (Cue::Praise, &[
        "toll", "super", "prima", "klasse", "wunderbar", "herrlich",
    ]),
    (Cue::Myself, &[
        "ich", "mein", "meine",
    ]),
];

#[rustfmt::skip]
const LABELS: &[(Label, &[&str])] = &[
    (Label::Decision, &[
        "entscheidung", "entscheidungen", "beschluss", "beschlüsse", "beschlossen", "entschieden",
        "vereinbart", "vereinbarungen",
    ]),
    (Label::Rule, &[
        "konvention", "konventionen", "regel", "regeln", "hausregeln", "grundsätze", "richtlinien",
        "vorlieben", "wichtig", "merken", "merke",
    ]),
    (Label::Task, &[
        "aufgabe", "aufgaben", "zu erledigen", "offen", "offene punkte", "noch offen",
        "nächste schritte", "als nächstes", "fehlt", "fehlt noch", "noch zu tun",
    ]),
    (Label::Person, &[
        "personen", "ansprechpartner", "kontakte", "wer ist wer", "rollen", "zuständigkeiten",
        "beteiligte",
    ]),
];
