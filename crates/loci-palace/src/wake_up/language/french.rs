//! The cues and labels of French.

use super::{Cue, Label, Language};

pub(super) const FRENCH: Language = Language {
    cues: CUES,
    labels: LABELS,
};

#[rustfmt::skip]
const CUES: &[(Cue, &[&str])] = &[
    (Cue::Decision, &[
        "on a décidé", "nous avons décidé", "décidé", "décision", "on part sur", "on garde", "on prend",
        "on passe", "on reste", "on utilise", "désormais", "dorénavant", "à partir de maintenant",
        "au lieu de", "convenu", "on choisit", "retenu", "acté", "on abandonne", "on bascule",
        "on revient", "nouveau :", "approuvé", "validé", "on fait",
    ]),
    (Cue::Leaning, &[
        "alors", "donc", "plutôt", "seulement", "gardons",
    ]),
    (Cue::Rule, &[
        "surtout pas", "il ne faut pas", "il faut toujours", "ne doit pas", "rappelle-toi",
        "souviens-toi", "n'oublie pas", "important :", "règle :", "évite*", "sans exception",
        "interdit", "ne touche pas", "en français", "obligatoire", "dans ce projet", "dans ce dépôt",
        "partout", "note-le", "confidentiel*",
    ]),
    (Cue::Frequency, &[
        "toujours", "jamais", "ne jamais",
    ]),
    (Cue::Wish, &[
        "stp", "svp", "chaque", "pas de", "uniquement", "aucun", "aucune", "doit", "doivent", "au plus",
        "au moins", "s'il te plaît",
    ]),
    (Cue::Task, &[
        "à faire", "tâche :", "tâches :", "prochaine étape", "en attente", "date limite",
        "ne pas oublier",
    ]),
    (Cue::Need, &[
        "il faut", "manque", "pas encore", "il reste", "échéance", "reste à",
    ]),
    (Cue::Done, &[
        "fait", "faite", "terminé", "terminée", "fini", "finie", "réglé", "réglée", "clos", "close",
        "corrigé", "corrigée", "résolu", "résolue", "livré", "livrée", "envoyé", "envoyée", "en place",
        "nickel", "c'est bon", "bouclé", "on peut l'enlever", "en ligne", "remarche", "refonctionne",
    ]),
    (Cue::NotDone, &[
        "pas encore", "pas fait", "non testé",
    ]),
    (Cue::Condition, &[
        "quand", "si", "dès que", "lorsque",
    ]),
    (Cue::Change, &[
        "désormais", "finalement", "au lieu", "à la place", "ne plus", "n'est plus", "plus de",
        "on change", "on passe", "on revient", "on abandonne", "on bascule", "trop court", "trop long",
        "trop cher",
    ]),
    (Cue::Final, &[
        "finalement", "en fin de compte", "au final",
    ]),
    (Cue::Provisional, &[
        "pour l'instant", "pour le moment",
    ]),
    (Cue::Yes, &[
        "oui", "d'accord", "vas-y", "ok pour", "exactement", "ça me va", "entendu", "impec", "va pour",
    ]),
    (Cue::Okay, &[
        "parfait", "ça marche", "bien sûr", "voilà", "très bien",
    ]),
    (Cue::No, &[
        "non", "surtout pas", "pas question", "hors de question", "pas de", "plutôt pas", "bof",
    ]),
    (Cue::Proposal, &[
        "je propose", "je suggère", "je recommande", "veux-tu", "voulez-vous", "proposition",
        "je conseille",
    ]),
    (Cue::Possible, &[
        "on pourrait", "vous pourriez", "tu pourrais", "on peut", "je peux",
    ]),
    (Cue::Choice, &[
        "ou", "lequel", "laquelle", "quel", "quelle", "faut-il", "on fait comment",
    ]),
    (Cue::Question, &[
        "que", "quoi", "pourquoi", "comment", "où", "quand", "qui", "quel", "quelle", "peux-tu",
        "tu peux", "est-ce", "y a-t-il", "combien", "c'est quoi",
    ]),
    (Cue::Result, &[
        "j'ai", "fait", "ajouté", "corrigé", "remplacé", "créé", "migré", "installé", "terminé",
        "supprimé", "tests verts", "verts", "en place", "il reste", "pas encore", "passée", "testé",
        "non testé", "déployé", "modifié", "renommé",
    ]),
    (Cue::Role, &[
        "présidente", "président", "responsable", "chargé*", "cheffe", "cliente", "trésori*",
        "secrétaire", "équipe", "équipe :", "directrice", "directeur", "contact :", "qui est qui",
        "comptable", "ma femme", "mon mari", "collègue", "bénévole*", "traduc*", "éditri*",
    ]),
    (Cue::Duty, &[
        "s'occupe", "gère", "valide", "tient le", "tient la",
    ]),
    (Cue::Deadline, &[
        "avant le", "jusqu'au", "jusqu'à", "échéance", "ouverture", "objectif", "lancement",
    ]),
    (Cue::Contrast, &[
        "pas", "sans", "ni",
    ]),
    (Cue::Trouble, &[
        "erreur*", "plante*", "panne", "cassé*", "perdu*", "brûlé*", "mort", "pire",
    ]),
    (Cue::Idle, &[
        "j'oublie jamais", "jamais vu", "toujours pareil", "comme toujours", "je suis toujours",
        "j'ai décidé de", "je me souviens", "tu te souviens", "peu importe", "laisse tomber",
        "tant pis", "toujours en panne", "c'est toujours", "plante toujours", "pas de souci",
        "pas de problème", "aucune idée", "j'ai toujours", "toujours le même",
    ]),
    (Cue::Undecided, &[
        "on verra", "je réfléchis", "je ne sais pas encore", "pas encore décidé", "je pense tout haut",
        "à voir", "un jour", "peut-être", "idée :",
    ]),
    (Cue::Draft, &[
        "traduis", "ce mail", "ce courriel", "cette lettre", "ce texte", "corrige ce",
    ]),
    (Cue::Pronoun, &[
        "je", "il", "elle", "ça", "c'est", "ce", "mon", "ma",
    ]),
    (Cue::Chat, &[
        "merci", "bonjour", "salut", "bonne nuit", "bon week-end", "à demain", "bonsoir",
    ]),
    (Cue::Preference, &[
        "je préfère", "on préfère", "je ne veux pas", "je n'aime pas", "je veux pas",
    ]),
    (Cue::Stop, &[
        "arrête de", "arrêtez de", "arrête avec",
    ]),
    (Cue::Joke, &[
        "mdr", "ptdr", "haha", "lol", "je plaisante", "c'est une blague", "bien sûr que non",
        "qu'est-ce qui pourrait mal tourner",
    ]),
    (Cue::Praise, &[
        "génial", "super", "parfait", "formidable", "bravo", "magnifique",
    ]),
    (Cue::Myself, &[
        "je", "j'ai", "mon", "ma",
    ]),
];

#[rustfmt::skip]
const LABELS: &[(Label, &[&str])] = &[
    (Label::Decision, &[
        "décision", "décisions", "décidé", "convenu", "accord", "relevé de décisions", "acté",
    ]),
    (Label::Rule, &[
        "règle", "règles", "conventions", "principes", "consignes", "préférences", "important",
        "à retenir", "rappel",
    ]),
    (Label::Task, &[
        "tâche", "tâches", "à faire", "à faire encore", "reste à faire", "actions à mener",
        "prochaines étapes", "en attente", "points ouverts", "il reste",
    ]),
    (Label::Person, &[
        "équipe", "personnes", "qui est qui", "rôles", "interlocuteurs",
    ]),
];
