//! The words by which statements are recognised, in English, German, Russian, Spanish, French and
//! Chinese. Languages are not told apart: a person who mixes them is understood.
//!
//! A cue is a word or some words in lower case. It matches whole words; `*` at its end matches the
//! beginning of a word. Chinese cues match anywhere, because Chinese has no spaces.

/// What a cue says about the sentence that contains it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cue {
    /// A decision.
    Decision,
    /// A decision if the sentence answers a question or a proposal.
    Leaning,
    /// A rule or a preference.
    Rule,
    /// Always or never. It is a rule, unless it tells what somebody does or what happens.
    Frequency,
    /// A wish, which is weaker than a rule.
    Wish,
    /// Something that is to be done.
    Task,
    /// Something that is missing, which is weaker than a task.
    Need,
    /// Something is done.
    Done,
    /// Something is not done: `Done` in the same sentence does not count.
    NotDone,
    /// It holds only if something else does.
    Condition,
    /// It replaces what was said before.
    Change,
    /// With a number, it is a decision.
    Final,
    /// It holds for a while only.
    Provisional,
    /// An answer that agrees.
    Yes,
    /// A word that may agree, or only say that something was heard.
    Okay,
    /// An answer that disagrees.
    No,
    /// A proposal, of an assistant.
    Proposal,
    /// Something that an assistant calls possible.
    Possible,
    /// A question between two things.
    Choice,
    /// The beginning of a question without a question mark.
    Question,
    /// A result of work, of an assistant.
    Result,
    /// What a person is.
    Role,
    /// What a person is responsible for.
    Duty,
    /// A date by which something happens.
    Deadline,
    /// What is not wanted beside what is wanted.
    Contrast,
    /// Something does not work: `always` and `never` are no rules beside it.
    Trouble,
    /// Another sense of a cue, or small talk.
    Idle,
    /// Nothing is decided yet.
    Undecided,
    /// A text that the assistant is asked to improve follows.
    Draft,
    /// Somebody or something that a sentence tells about.
    Pronoun,
    /// Thanks and the like, which may stand beside a statement.
    Chat,
}

#[rustfmt::skip]
pub(super) const CUES: &[(Cue, &[&str])] = &[
    (
        Cue::Decision,
        &[
            // English
            "we decided", "we have decided", "we've decided", "decision", "decisions", "decided:", "decided that",
            "let's go with", "lets go with", "we go with", "we're going with", "i'm going with", "going with", "go with",
            "go ahead with", "we agreed", "agreed:", "agreed on", "it is decided", "settled on",
            "from now on", "from here on", "going forward", "as of today", "we'll use", "we will use", "we use",
            "we do it", "we will", "we keep", "we stay", "we stick", "let's keep", "let's use", "let's stick",
            "let's do", "let's stay", "let's move", "stick with", "stay with", "stays", "stay on", "switch to", "switching to", "moving to",
            "we move to", "moves to", "move to", "is the default", "are the default", "is our main", "our main", "that's final",
            "that's it", "scrap", "reverting", "mandatory", "parked until", "parked", "on hold", "no longer",
            "instead of", "off the table", "goes away", "final:", "signed off", "we settled", "we picked", "we chose", "i chose",
            "is canonical", "source of truth", 
            // German
            "beschlossen", "beschluss*", "entschieden:", "entscheidung*", "haben entschieden", "wir nehmen", "nehmen wir",
            "wir bleiben", "bleiben bei", "ich bleib*", "wir steigen", "steigen um", "ziehen um",
            "wir ziehen", "wir verwenden", "wir nutzen", "ab jetzt", "ab sofort", "ab heute", "von nun an", "einigten uns", "vereinbart*",
            "es bleibt", "bleibt bei", "bleibt es", "wir setzen auf", "setzen auf", "wird es", "festgelegt", "wir wechseln", "umstellen auf",
            "stellen um", "statt", "fällt weg", "fliegt raus", "steht fest", "abgemacht", "wir einigen",
            // Russian
            "решили", "решено", "решение", "мы решили", "договорились", "берём", "берем", "переходим", "остаёмся", "остаемся",
            "оставляем", "используем", "храним", "выбрали", "выбираем", "с этого момента", "отныне", "вместо",
            "пусть будет", "переезжаем", "отказываемся", "утвердили", "утверждено", "итого:",
            // Spanish
            "decidimos", "hemos decidido", "decidido", "decisión", "decision:", "acordamos", "acordado", "quedamos en", "nos quedamos",
            "vamos con", "usamos", "usaremos", "a partir de ahora", "desde ahora", "de ahora en adelante", "en vez de", "en lugar de",
            "nos pasamos", "pasamos a", "cambiamos a", "elegimos", "se aprueba", "aprobado",
            // French
            "on a décidé", "nous avons décidé", "décidé", "décision", "on part sur", "on garde", "on prend", "on passe", "on reste",
            "on utilise", "désormais", "dorénavant", "à partir de maintenant", "au lieu de", "convenu", "on choisit", "retenu", "acté",
            "on abandonne", "on bascule",
            // Chinese
            "决定", "決定", "我们用", "就用", "采用", "改用", "选择了", "定了", "从现在起", "从今以后", "以后都", "统一用", "不再", "换成", "改成", "敲定", "商定", "确定用",
        ],
    ),
    (
        Cue::Leaning,
        &[
            "then", "use", "keep", "drop", "skip", "make it", "option", "only", "both", "neither", "simple", "just",
            "dann", "nur", "nimm", "behalten", "lass", "einfach", "также", "тогда", "только", "просто", "оставь", "давай",
            "entonces", "solo", "usa", "mejor", "alors", "donc", "plutôt", "seulement", "gardons", "那就", "就", "只", "还是用",
        ],
    ),
    (
        Cue::Rule,
        &[
            // English
            "don't", "do not", "dont", "must", "must not", "mustn't", "please don't", "i prefer", "we prefer", "prefer",
            "i'd rather", "i would rather", "rather not", "remember", "remember:", "remember that", "no exceptions", "not allowed", "forbidden",
            "forbid", "forbids", "make sure", "avoid", "important:", "rule:", "convention:", "only through", "by hand only", "only by",
            "nobody else", "no one else", "under no circumstances", "has to stay", "have to stay", "without asking",
            "ask before", "tell me before", "ask me before", "ask me first", "keep our", 
            "in english", "in german", "no pasting", "is final", "should always", "should never", "i hate", "i don't want",
            "i don't like", "stop doing", "stop using", "not even", "free of", "be gentle", "hands off", "off limits", "style:", 
            // German
            "nicht mehr", "auf keinen fall", "keinesfalls", "darf nicht", "dürfen nicht", 
            "ich möchte nicht", "möchte ich nicht", "ich will nicht", "merk dir", "merke dir", "merken:", "denk daran", "wichtig:", "regel:",
            "grundsätzlich", "nur noch", "bevorzuge", "vermeide*", "ausschließlich", "immer nur", 
            // Russian
            "нельзя", "запомни*", "помни", "должн*", "обязательно", "впредь", 
            "не трогай", "не меняй", "не делай", "не используй", "важно:", "правило:", "предпочитаю", "лучше не", "запрещ*", 
            // Spanish
            "no hay que", "no debe", "no debes", "prefiero", "preferimos", "recuerda", "recuerda:",
            "acuérdate", "importante:", "regla:", "evita", "evitar", "sin excepción", "prohibido", "no quiero", "no toques", "no uses", "no cambies", "ni se te ocurra", "obligatorio", "en español",
            // French
            "surtout pas", "il ne faut pas", "il faut toujours", "ne doit pas", 
            "je préfère", "on préfère", "rappelle-toi", "souviens-toi", "n'oublie pas", "important :", "règle :", "évite*", "sans exception", "interdit", "je ne veux pas", "ne touche pas", "en français", "obligatoire",
            // Chinese
            "一律", "绝不", "不要", "不能", "不准", "不得", "禁止", "必须", "务必", "记住", "牢记", "切记", "偏好", "宁可", "只能", "不许", "千万", 
            "别再", "千万别",
        ],
    ),
    (
        Cue::Frequency,
        &[
            "always", "never",
            "immer", "nie", "niemals", "stets",
            "всегда", "никогда",
            "siempre", "nunca", "jamás",
            "toujours", "jamais", "ne jamais",
            "总是", "永远", "从不",
        ],
    ),
    (
        Cue::Wish,
        &[
            "please", "pls", "only", "every", "once", "everywhere", "i want", "i like", "needs an", "at most", "at least", "no more than", "by default", "keep the", "keep that", "keep it", "only in", 
            "bitte", "kein", "keine", "jede", "jeder", "ich will", "muss", "müssen", "darf", "künftig", "höchstens", "mindestens", "lieber", "wichtig",
            "только", "пожалуйста", "без", "каждый", "каждая", "не больше", "не меньше", "минимум", "максимум", "не надо", "не нужно", "важно", "пиши", "никакой", "никаких",
            "solo", "sólo", "cada", "por favor", "ninguna", "ningún", "hay que", "debe", "deben", "nada de", "al menos", "como mucho", "como máximo",
            "stp", "svp", "chaque", "pas de", "uniquement", "aucun", "aucune", "doit", "doivent", "au plus", "au moins", "s'il te plaît",
            "请", "每个", "每次", "只用", "喜欢", 
        ],
    ),
    (
        Cue::Task,
        &[
            "todo:", "to do:", "to-do", "open:", "still open", "open issue", "open point", "open question", "next:", "next step", "next steps", "action:", "action item", "actions:",
            "not done", "still missing", "still needs", "missing:", "remaining:", "left to do", "put it on the list",
            "somebody has to", "someone has to", "blocked by", "follow up", "follow-up", "don't forget", "dont forget", "fixme", "haven't done", "untouched", "not begun", "not started", "unfinished",
            "zu erledigen", "erledigen:", "offen:", "noch offen", "aufgabe:", "aufgaben:", "als nächstes", "nächster schritt", "nächste schritte", "muss noch", "müssen noch", "noch zu", "fehlt noch", "fehlen noch", "steht noch aus", "ausstehend", "nicht vergessen", "warten auf", "bis spätestens",
            "надо сделать", "сделать:", "задача:", "задачи:", "осталось:", "дальше:", "следующий шаг", "не сделано", "кода ещё нет", "не забыть", "ждём", "ждем", "открыто:", "планы:", "доделать",
            "por hacer", "pendiente", "pendientes", "pendiente:", "tarea:", "tareas:", "siguiente paso", "próximo paso", "quedan por", "sin hacer", "fecha límite", "no olvidar", "esperando", 
            "à faire", "tâche :", "tâches :", "prochaine étape", "en attente", "date limite", "ne pas oublier", 
            "待办", "待做", "未完成", "要做", "下一步", "接下来", "剩下", "别忘了", "还差",
        ],
    ),
    (
        Cue::Need,
        &[
            "needs to", "need to", "needs a", "has to", "have to", "must be", "we should", "due", "pending", "remains", "blocked", "have not", "waiting for", "offen", "fehlt", "abgabe", "frist", "noch nicht", "надо", "нужно", "срок", "falta", "faltan", "hay que", "plazo", "il faut", "manque", "pas encore", "需要", "还没", "还要", "not yet", "ещё не", "еще не", "aún no", "todavía no", "尚未", "queda por", "il reste", "осталось", "等待", "deadline", "milestone", "дедлайн", "échéance", "截止", "reste à",
        ],
    ),
    (
        Cue::Done,
        &[
            "done", "closed", "finished", "fixed", "merged", "shipped", "released", "resolved", "settled", "complete", "completed", "solved", "works now", "is in", "in now", "green", "deployed", "implemented", "covers", "renewed", "ordered", "arrived", "installed", "replaced", "sent", "removed", "rotated", "migrated", "that one's", "nice, in",
            "erledigt", "fertig", "geschlossen", "abgeschlossen", "behoben", "gelöst", "gemacht", "ist drin", "läuft", "sind da", "ist da", "umgesetzt", "eingebaut", "verschickt", "bestellt", "bezahlt", "geklärt", "abgehakt", "eingereicht",
            "готово", "сделано", "сделал*", "закрыт*", "закрываем", "починил*", "исправил*", "решена", "решён", "решена", "завершен*", "завершён*", "выполнен*", "больше нет", "отправил*", "перенёс", "перенес", "заказал*", "работает",
            "hecho", "hecha", "listo", "lista", "cerrado", "cerrada", "terminado", "terminada", "resuelto", "resuelta", "arreglado", "arreglada", "completado", "completada", "enviado", "enviada", "funciona", "ya está", "solucionado", "entregado", "entregada",
            "fait", "faite", "terminé", "terminée", "fini", "finie", "réglé", "réglée", "clos", "close", "corrigé", "corrigée", "résolu", "résolue", "livré", "livrée", "envoyé", "envoyée", "en place", "nickel", "c'est bon", "bouclé",
            "完成了", "已完成", "完成", "做完", "搞定", "修好", "已修复", "解决了", "已解决", "关闭", "合并了", "已合并", "好了", "上线了", "已上线", "弄好", "已经", "通过了",
            "can go", "works again", "verified", "kann weg", "можно убрать", "se puede quitar", "on peut l'enlever",
        ],
    ),
    (
        Cue::NotDone,
        &[
            "not done", "not yet", "not finished", "isn't done", "not fixed", "not merged", "not pushed", "unfinished", "not tested", "untested", 
            "nicht fertig", "noch nicht", "ungetestet", "не готово", "ещё не", "еще не", "не сделано", "no está hecho", "aún no", "todavía no", "pas encore", "pas fait", "non testé", "还没", "没有完成", "未完成", "尚未",
        ],
    ),
    (
        Cue::Condition,
        &[
            "when", "before", "once", "if", "unless",
            "wenn", "falls", "bevor", "sobald",
            "когда", "если", "как только",
            "cuando", "si", "en cuanto",
            "quand", "si", "dès que", "lorsque",
            "如果", "等到", "的时候",
        ],
    ),
    (
        Cue::Change,
        &[
            "from now on", "from here on", "instead", "instead of", "no longer", "anymore", "any more", "scrap", "revert*", "switch*", "moves to", "move to", "moving to", "moved to", "again", "forget", "rip", "goes away", "done with", "changed my mind", "off the table", "after all", "back to", "replace", "replaces", "replaced", "we drop", "drop the", "actually", "doesn't work", "doesnt work", "supersedes", "not anymore", "nightmare", "killing us", "is out", "void", "for everything", "too expensive", "too slow",
            "ab jetzt", "ab sofort", "statt", "stattdessen", "nicht mehr", "doch nicht", "doch lieber", "doch", "umsteigen", "steigen auf", "steigen um", "ziehen um", "wechseln", "zurück zu", "fällt weg", "ersetzt", "geändert", "umstellen",
            "теперь", "вместо", "больше не", "больше так", "переходим", "переезжаем", "возвращаемся", "отказываемся", "передумал*", "всё-таки", "все-таки", "перенести",
            "a partir de ahora", "desde ahora", "en vez de", "en lugar de", "ya no", "al final", "mejor", "cambiamos", "cambio de", "volvemos", "pasamos a", "nos pasamos", "descartamos", "fuera",
            "désormais", "finalement", "au lieu", "à la place", "ne plus", "n'est plus", "plus de", "on change", "on passe", "on revient", "on abandonne", "on bascule", "trop court", "trop long", "trop cher",
            "改用", "改成", "换成", "不再", "不用了", "放弃", "取消", "还是", "改为", "代替", "最后决定", "从现在起",
        ],
    ),
    (
        Cue::Final,
        &[
            "in the end", "finally", "after all",
            "letztlich", "am ende", "doch lieber",
            "в итоге", "всё-таки", "все-таки",
            "al final", "finalmente",
            "finalement", "en fin de compte", "au final",
            "最后", "最终",
        ],
    ),
    (
        Cue::Provisional,
        &["for now", "for the moment", "temporarily", "erstmal", "vorerst", "vorläufig", "пока", "временно", "por ahora", "de momento", "pour l'instant", "pour le moment", "暂时", "先用"],
    ),
    (
        Cue::Yes,
        &[
            "yes", "yeah", "yep", "yup", "exactly", "agreed", "do it", "do that", "go for it", "go ahead", "sounds good", "sounds right", "fine by me", "let's do that", "let's go with that", "works for me", "makes sense", "please do", "lgtm", "deal", 
            "ja", "jo", "genau", "einverstanden", "mach das", "mach", "machen wir", "gerne", "los", "ok los", "so machen wir", "in ordnung", 
            "да", "ага", "угу", "так и делаем", "давай", "давай так", "согласен", "согласна", "делай", "договорились", "именно",
            "sí", "de acuerdo", "perfecto", "hazlo", "adelante", "exacto", "venga", "dale", "me parece bien", 
            "oui", "d'accord", "vas-y", "ok pour", "exactement", "ça me va", "entendu", "impec", "va pour",
            "好的", "可以", "是的", "同意", "没问题", "就这样", "就这么", "没错", "赞成", "就按",
            "si,",
        ],
    ),
    (
        Cue::Okay,
        &[
            "ok", "okay", "sure", "nice", "great", "good", "fine", "right", "correct", "perfect",
            "gut", "super", "passt", "klar", "stimmt", "perfekt",
            "ок", "хорошо", "отлично", "точно", "верно", "супер",
            "bien", "bueno", "vale", "genial", "correcto", "claro",
            "parfait", "ça marche", "bien sûr", "voilà", "très bien",
            "好", "行", "嗯", "对",
        ],
    ),
    (
        Cue::No,
        &[
            "no", "nope", "nah", "not", "absolutely not", "no way", "way too", "too fancy", "overkill", "lol no", "hell no", "please no", "don't", "rather not", "i'd rather", "reject", "rejected",
            "nein", "nee", "nö", "auf keinen fall", "lieber nicht", "quatsch", "zu viel", "zu teuer", "nicht",
            "нет", "не", "не надо", "ни в коем случае", "не стоит", "ну нет", "неа",
            "ni hablar", "nada de", "mejor no", "para nada", "de ninguna manera", "qué va",
            "non", "surtout pas", "pas question", "hors de question", "pas de", "plutôt pas", "bof",
            "不", "不要", "不行", "不用", "别", "算了", "没必要", "不好", "太复杂", "太贵",
        ],
    ),
    (
        Cue::Proposal,
        &[
            "i suggest", "i propose", "i'd propose", "i recommend", "i'd recommend", "recommend", "i would", "i'd", "i'd add", "should i", "shall i", "want me to", "would you like", "how about", "what about", "proposal", "my suggestion", 
            "ich schlage vor", "schlage vor", "vorschlag", "ich empfehle", "empfehle", "ich könnte", "soll ich", "ich würde", "wie wäre", 
            "предлагаю", "предложение", "рекомендую", "советую", "хотите", "сделать ли", 
            "propongo", "sugiero", "recomiendo", "quieres que", "propuesta", "yo usaría", 
            "je propose", "je suggère", "je recommande", "veux-tu", "voulez-vous", "proposition", "je conseille", 
            "建议", "我建议", "推荐", "提议", "要不要", "不如", 
        ],
    ),
    (
        Cue::Possible,
        &[
            "could", "might", "may help", "then", "so:", "would be", "would remove", "options", "option", "alternatives", "alternatively", "works without", "i could", "you could", "we could",
            "könnte", "könnten", "möglich wäre", "alternativ", "optionen",
            "можно", "могли бы", "стоит", "варианты", "вариант", "лучше",
            "podría", "podríamos", "podemos", "opciones", "convendría", "se puede",
            "on pourrait", "vous pourriez", "tu pourrais", "on peut",
            "可以", "可以用", "考虑", "选项", "是否", "方案",
            "i can", "ich kann", "могу", "puedo", "je peux",
        ],
    ),
    (
        Cue::Choice,
        &[
            "or", "vs", "versus", "yes or no", "should we", "should i", "shall we", "do we want", "which", "alternatives", "what would you do", "how should", "how do we", "what next", "options",
            "oder", "sollen wir", "soll ich", "welche*", "wie gehen wir", "was spricht", "или", "какой", "какую", "на чём", "на чем", "в каком", "стоит ли", "o", "qué usamos", "cuál", "deberíamos", "usamos", "ou", "lequel", "laquelle", "quel", "quelle", "faut-il", "on fait comment", "还是", "哪个", "要不要", "怎么", "用什么",
        ],
    ),
    (
        Cue::Question,
        &[
            "what", "what's", "whats", "why", "how", "where", "when", "who", "which", "can you", "could you", "can we", "could we", "do you", "does", "did", "did we", "is there", "are there", "should", "shall", "would", "will you", "any idea", "is it", "are we", "have you", "has", "do we", "do i", "can i",
            "was", "warum", "wieso", "wie", "wo", "wann", "wer", "welche*", "kannst du", "können wir", "gibt es", "weißt du", "ist das", "hast du", "soll", "sollen",
            "что", "почему", "зачем", "как", "где", "когда", "кто", "какой", "какая", "можно ли", "а можно", "есть ли", "сколько", "можешь",
            "qué", "que es", "por qué", "cómo", "dónde", "cuándo", "quién", "cuál", "puedes", "podemos", "hay alguna", "cuánto", "se puede",
            "que", "quoi", "pourquoi", "comment", "où", "quand", "qui", "quel", "quelle", "peux-tu", "tu peux", "est-ce", "y a-t-il", "combien", "c'est quoi",
            "什么", "为什么", "怎么", "哪里", "什么时候", "谁", "能不能", "可不可以", "有没有", "多少", "如何",
        ],
    ),
    (
        Cue::Result,
        &[
            "done", "added", "i added", "fixed", "merged", "removed", "changed", "converted", "implemented", "created", "deployed", "migrated", "patched", "switched", "updated", "wrote", "built", "builds", "pushed", "committed", "passed", "green", "verified", "tested", "measured", "restored", "installed", "moved", "renamed", "replaced", "released", "clamped", "started", "finished", "generated", "configured", "disabled", "enabled", "reverted", "exported", "imported", "registered", "uploaded", "downloaded", "extended", "registered", "cleaned", "paired", "parsed", "rewrote", "rebuilt", "upgraded", "backfilled", "not yet", "untested", "not tested", "still", "regression", "local on", "not pushed", "i wrote", "i set", "i have not", 
            "erledigt", "fertig", "umgestellt", "angelegt", "ergänzt", "entfernt", "geändert", "erzeugt", "eingebaut", "hinzugefügt", "behoben", "geprüft", "getestet", "gemessen", "übernommen", "gespeichert", "installiert", "migriert", "korrigiert", "geschrieben", "noch nicht", "fehlt", "ungetestet", "habe ich", "ich habe",
            "готово", "сделал*", "добавил*", "исправил*", "перенёс", "перенес", "создал*", "обновил*", "удалил*", "настроил*", "проверил*", "поправил*", "запустил*", "починил*", "написал*", "заменил*", "подключил*", "сделано", "осталось", "ещё не", "еще не", "не проверено", "не успел*", "залил*", "собрал*",
            "hecho", "añadí", "añadido", "agregué", "corregí", "corregido", "cambié", "cambiado", "creé", "creado", "migré", "migrado", "instalé", "actualicé", "actualizado", "eliminé", "pasan", "listo", "probado", "falta", "pendiente", "aún no", "todavía no", "subido", "desplegado", "implementé", "moví", "escribí", "arreglado", "arreglé",
            "j'ai", "fait", "ajouté", "corrigé", "remplacé", "créé", "migré", "installé", "terminé", "supprimé", "tests verts", "verts", "en place", "il reste", "pas encore", "passée", "testé", "non testé", "déployé", "modifié", "renommé",
            "完成", "已完成", "已添加", "添加了", "已修复", "修复了", "已更新", "更新了", "已迁移", "迁移了", "已创建", "创建了", "已改", "改好", "已部署", "部署了", "已合并", "还没", "尚未", "剩下", "未测试", "写好", "已写", "测试通过", 
            "i set", "set to", "tests pass", "tests are green", "is green", "are green", "now", "läufe", "laufen jetzt", "теперь",
        ],
    ),
    (
        Cue::Role,
        &[
            "owner", "product owner", "lead", "tech lead", "team", "team:", "treasurer", "chair", "president", "manager", "maintainer", "reviewer", "reviewer:", "contact", "contact:", "contacts:", "customer", "client", "designer", "developer", "engineer", "operations", "ops", "dpo", "boss", "supervisor", "advisor", "professor", "prof.", "editor", "translator", "auditor", "auditor:", "wife", "husband", "partner", "colleague", "intern", "who is who", "people:", "stakeholder*", "is doing", "pm", "qa", "cto", "ceo", "coordinator", "curator", "librarian", "teacher", "doctor", "lawyer", "accountant", "our admin", "sysadmin", "on call", "publisher", "photographer", "volunteer*", "secretary", "director", "head of", "principal", "offline laptop", "my word", "his word", "her word",
            "betreuer*", "gutachter*", "erstgutachten", "zweitgutachter*", "chef", "chefin", "leiter", "leiterin", "ansprechpartner*", "kunde", "kundin", "kollege", "kollegin", "meine frau", "mein mann", "vermieter*", "architekt*", "lehrer*", "macht die", "macht das", "macht den", "vorstand", "kassier*", "hausmeister*", "nachbar*", "wer ist wer",
            "кто есть кто", "завскладом", "начальник", "директор", "менеджер", "заказчик", "клиент", "команда", "команда:", "бухгалтер", "арт", "дизайнер", "разработчик", "контакт", "руководитель", "жена", "муж", "коллега", "редактор", "переводчик", "тестировщик", "аналитик", "преподаватель", "научрук", "куратор", 
            "responsable", "encargad*", "jefe", "jefa", "cliente", "dueño", "dueña", "directora", "coordinador*", "contacto", "contacto:", "equipo", "equipo:", "decide", "profesor*", "tutor", "tutora", "quién es quién", "contable", "abogad*", "mi mujer", "mi marido", "compañer*", "diseñador*", "traductor*", "editora", 
            "présidente", "président", "responsable", "chargé*", "cheffe", "cliente", "trésori*", "secrétaire", "équipe", "équipe :", "directrice", "directeur", "contact :", "qui est qui", "comptable", "ma femme", "mon mari", "collègue", "bénévole*", "traduc*", "éditri*",
            "负责人", "经理", "老板", "客户", "设计师", "联系人", "团队", "同事", "老师", "导师", "组长", "主管", "编辑", "谁是谁", "财务",
        ],
    ),
    (
        Cue::Duty,
        &[
            "owns", "maintains", "reviews", "signs", "signed by", "sign off", "signs off", "takes the", "takes over", "stands in", "hands over", "handles", "looks after", "responsible", "in charge", "approves", "runs the",
            "zuständig", "verantwortlich", "kümmert sich", "betreut", "pflegt", "entscheidet",
            "отвечает", "отвечает за", "принимает", "ведёт", "ведет", "занимается",
            "se encarga", "lleva", "mantiene", "revisa", "firma",
            "s'occupe", "gère", "valide", "tient le", "tient la",
            "负责", "审核", "维护",
        ],
    ),
    (
        Cue::Deadline,
        &[
            "by end of", "until", "till", "deadline", "due", "goes out", "freeze", "milestone", "launch", "release", "goal:", "goal", "target", "by the end", "expires",
            "bis zum", "bis ende", "abgabe", "frist", "spätestens", "termin", "ziel:", "ziel", "до", "срок", "дедлайн", "к концу", "цель:", "релиз", "antes del", "hasta el", "hasta", "plazo", "objetivo", "meta:", "entrega", "avant le", "jusqu'au", "jusqu'à", "échéance", "ouverture", "objectif", "lancement", "截止", "之前", "上线", "目标", "期限", "月底",
        ],
    ),
    (
        Cue::Contrast,
        &[
            "not", "no", "without", "instead",
            "nicht", "kein*", "ohne", "statt",
            "не", "без", "вместо",
            "no", "sin", "ni",
            "pas", "sans", "ni",
            "不", "非",
        ],
    ),
    (
        Cue::Trouble,
        &[
            "fail*", "error*", "crash*", "hang", "hangs", "hung", "break*", "broken", "wrong", "slow", "timeout*", "times out", "bug", "bugs", "annoying", "weird", "flaky",
            "kaputt", "fehler*", "bricht", "abstürz*", "hängt", "falsch", "quatsch", "friert",
            "ошибк*", "пада*", "отвал*", "виснет", "баг", "залоч*",
            "falla*", "roto", "rota", "se cuelga", "mal", "erreur*", "plante*", "panne", "cassé*", "失败", "报错", "崩溃", "坏了", "卡住",
            "ломается", "сломал*", "сломан*",
        ],
    ),
    (
        Cue::Idle,
        &[
            "never mind", "nevermind", "i remember", "do you remember", "remember me", "remember when", "you remember", "i always", "i never", "never hung", "never seen", "never happened", "it always", "it never", "always on", "as always", "like always", "decided to just", "i decided to", "never would have", "i'd rather be", "every single time", "every time i", "who cares", "why does", "every now", "almost always", "nearly always", "always forget", "lol same", "should we always", "forever", 
            "immer noch", "immer wieder", "wie immer", "immer wenn", "entschieden, heute", "mich entschieden", "egal", "nie wieder", "noch nie", "vergiss es", "schon gut", "ich vergesse immer", "ich erinnere mich", "erinnerst du dich", "keine ahnung", "kein problem", "keine sorge", "keine eile",
            "решил просто", "решила просто", "никогда такого", "как всегда", "опять", "неважно", "не важно", "забудь", "ты помнишь", "помнишь", "я помню", "ничего страшного", "не суть", "решил не", "без проблем", "никогда не видел*", "всегда так", "я всегда", "я никогда",
            "da igual", "no importa", "me acuerdo", "te acuerdas", "como siempre", "siempre se me", "yo siempre", "nunca había", "nunca me", "he decidido irme", "olvídalo", "siempre me", "sin problema", "decidí",
            "j'oublie jamais", "jamais vu", "toujours pareil", "comme toujours", "je suis toujours", "j'ai décidé de", "je me souviens", "tu te souviens", "peu importe", "laisse tomber", "tant pis", "toujours en panne", "c'est toujours", "plante toujours", "pas de souci", "pas de problème", "aucune idée", "j'ai toujours", "toujours le même",
            "没关系", "无所谓", "随便", "还记得吗", "你还记得", "我记得", "从来没见过", "我总是", "老是", "算了不", "别担心", "别介意", "没事",
            "i've decided to", "hab mich entschieden", "habe mich entschieden", "решил", "решила", "he decidido", "我决定", "we always had", "used to",
        ],
    ),
    (
        Cue::Undecided,
        &[
            "just thinking", "thinking out loud", "thinking about", "no wait", "don't know yet", "dont know yet", "not sure yet", "maybe some other", "maybe we should", "not sure", "no idea", "just kidding", "joking", "forget it", "let me think", "not decided", "undecided", "scratch that", "on second thought",
            "weiß noch nicht", "mal sehen", "nur so ein gedanke", "noch nicht entschieden", "ich überlege", "überlege noch", "warte mal", "doch nicht, vergiss es",
            "не знаю пока", "пока не знаю", "просто мысли", "ещё не решил*", "еще не решил*", "подумаю", "надо подумать", "мысли вслух",
            "no sé todavía", "no lo sé", "ya veremos", "estaba pensando", "aún no decid*", "todavía no decid*", "lo pienso", "pensando en voz alta",
            "on verra", "je réfléchis", "je ne sais pas encore", "pas encore décidé", "je pense tout haut", "à voir",
            "不知道", "想想而已", "再说吧", "还没决定", "再想想", "随便想想",
        ],
    ),
    (
        Cue::Draft,
        &[
            "polish", "proofread", "translate", "rewrite this", "this mail", "this email", "this e-mail", "this letter", "this text", "this paragraph", "reply to",
            "übersetz*", "korrigier*", "diese mail", "diese e-mail", "diesen brief", "diesen text", "formulier*",
            "переведи", "это письмо", "этот текст", "проверь текст", "ответ клиенту",
            "traduce", "este correo", "esta carta", "este texto", "revisa este", "corrige este",
            "traduis", "ce mail", "ce courriel", "cette lettre", "ce texte", "corrige ce",
            "翻译", "润色", "这封邮件", "这段话", "这封信",
        ],
    ),
    (
        Cue::Pronoun,
        &[
            "i", "it", "he", "she", "they", "that", "this", "my",
            "ich", "er", "sie", "es", "das", "mein", "meine",
            "я", "он", "она", "оно", "они", "это", "мой", "моя",
            "yo", "él", "ella", "eso", "esto", "mi",
            "je", "il", "elle", "ça", "c'est", "ce", "mon", "ma",
            "我", "他", "她", "它", "这",
        ],
    ),
    (
        Cue::Chat,
        &[
            "thanks", "thank you", "thx", "ta", "cheers", "lol", "haha", "good night", "good morning", "morning", "hello", "hi", "hey", "bye", "see you", "you're a star", "well done", "cool", "wow", "ugh", "hm", "hmm", "k",
            "danke", "danke dir", "schönes wochenende", "guten morgen", "hallo", "tschüss", "feierabend", "servus",
            "спасибо", "спс", "привет", "пока", "лол", "ура", "доброе утро", "спокойной ночи",
            "gracias", "hola", "adiós", "buenos días", "hasta luego", "jaja",
            "merci", "bonjour", "salut", "bonne nuit", "bon week-end", "à demain", "bonsoir",
            "谢谢", "多谢", "你好", "早", "晚安", "哈哈", "再见", "辛苦了",
        ],
    ),
];

/// Headings and words before a colon that say what the list below them or the words after them are.
#[rustfmt::skip]
pub(super) const LABELS: &[(Label, &[&str])] = &[
    (
        Label::Decision,
        &[
            "decision", "decisions", "decided", "decision outcome", "agreed", "agreement", "agreements", "resolution", "resolved", "outcome",
            "entscheidung", "entscheidungen", "beschluss", "beschlüsse", "beschlossen", "entschieden", "vereinbart", "vereinbarungen",
            "решение", "решения", "решили", "решено", "договорились", "договорённости", "итог", "итоги",
            "decisión", "decisiones", "acuerdo", "acuerdos", "acordado", "decidido", "se decide", "resoluciones",
            "décision", "décisions", "décidé", "convenu", "accord", "relevé de décisions", "acté",
            "决定", "决议", "结论", "決定", "共识", "决策",
        ],
    ),
    (
        Label::Rule,
        &[
            "convention", "conventions", "rule", "rules", "principles", "policy", "policies", "guidelines", "style", "code style", "coding conventions", "house rules", "team rules", "preferences", "preference", "remember", "important", "note to self", "dos and don'ts", "working agreement", "working agreements",
            "konvention", "konventionen", "regel", "regeln", "hausregeln", "grundsätze", "richtlinien", "vorlieben", "wichtig", "merken", "merke",
            "правило", "правила", "соглашения", "договоренности", "важно", "принципы", "запомнить", "запомни", "предпочтения",
            "regla", "reglas", "convenciones", "normas", "principios", "preferencias", "importante", "recordar", "recuerda",
            "règle", "règles", "conventions", "principes", "consignes", "préférences", "important", "à retenir", "rappel",
            "规则", "约定", "规范", "原则", "偏好", "注意", "重要", "记住",
        ],
    ),
    (
        Label::Task,
        &[
            "todo", "todos", "to do", "to-do", "action", "actions", "action items", "next", "next step", "next steps", "open", "open items", "open points", "open questions", "open tasks", "tasks", "still missing", "missing", "still open", "remaining", "not done", "follow-ups", "blockers", "backlog",
            "aufgabe", "aufgaben", "zu erledigen", "offen", "offene punkte", "noch offen", "nächste schritte", "als nächstes", "fehlt", "fehlt noch", "noch zu tun",
            "задача", "задачи", "сделать", "надо", "надо сделать", "осталось", "дальше", "открытые вопросы", "поручения", "планы", "открыто",
            "tarea", "tareas", "pendiente", "pendientes", "por hacer", "próximos pasos", "siguientes pasos", "acciones", "falta", "faltan",
            "tâche", "tâches", "à faire", "à faire encore", "reste à faire", "actions à mener", "prochaines étapes", "en attente", "points ouverts", "il reste",
            "待办", "待办事项", "任务", "下一步", "行动项", "未完成", "遗留问题", "后续", "剩余",
        ],
    ),
    (
        Label::Person,
        &[
            "people", "team", "contacts", "contact", "who is who", "who's who", "roles", "members", "maintainers", "owners", "stakeholders", "responsibilities",
            "personen", "ansprechpartner", "kontakte", "wer ist wer", "rollen", "zuständigkeiten", "beteiligte",
            "команда", "кто есть кто", "контакты", "люди", "роли", "участники проекта",
            "equipo", "personas", "contactos", "quién es quién", "responsables",
            "équipe", "personnes", "qui est qui", "rôles", "interlocuteurs",
            "团队", "人员", "联系人", "成员", "分工", "负责人",
        ],
    ),
];

/// What a heading or a word before a colon announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Label {
    Decision,
    Rule,
    Task,
    Person,
}

/// Parts of a path that say that a file holds decisions or minutes.
#[rustfmt::skip]
pub(super) const RECORDS: &[&str] = &[
    "adr", "adrs", "decision", "decisions", "rfc", "rfcs", "minutes", "meeting", "meetings", "protokoll", "protokolle", "besprechung", "besprechungen", "entscheidungen", "sitzungen", "reuniones", "actas", "acta", "decisiones", "réunions", "reunions", "comptes-rendus", "compte-rendu", "décisions", "решения", "протоколы", "протокол", "встречи", "决定", "会议", "会议记录", "决策", "standup", "standups", "retro", "retros", "sync",
];

/// Parts of a path that say that a file was written by others or is not meant.
#[rustfmt::skip]
pub(super) const FOREIGN: &[&str] = &[
    "vendor", "vendors", "vendored", "third_party", "third-party", "thirdparty", "3rdparty", "external", "externals", "upstream", "node_modules", "site-packages", "deps", "submodules", "fixtures", "fixture", "testdata", "test", "tests", "spec", "specs", "__tests__", "examples", "example", "samples", "sample", "template", "templates", "archetypes", "themes", "theme", "dist", "build", "target", "public", "out", "generated", "gen", "logs", "log", "legal", "licenses", "copied", "mirror", "archive", "archives", "quotes", "refs", "references", "papers", "literature", "clippings", "competitors", "press", "wiki", "mail", "mails", "letters", "correspondence", "standards", "content", "assets", "locales", "i18n", "l10n",
];

/// The folders of a project, from its top, in which decisions and minutes usually are.
#[rustfmt::skip]
pub(super) const RECORD_FOLDERS: &[&str] = &[
    "adr/", "adrs/", "decisions/", "minutes/", "meetings/", "rfcs/", "docs/adr/", "docs/adrs/", "docs/decisions/", "docs/minutes/", "docs/meetings/", "docs/rfcs/", "docs/architecture/decisions/", "docs/architecture/adr/", "docs/architecture/", "docs/design/decisions/", "docs/notes/", "doc/adr/", "doc/decisions/", "doc/minutes/", "doc/meetings/", "notes/", "notes/meetings/", "notes/decisions/", "meeting-notes/", "docs/meeting-notes/", "protokolle/", "docs/protokolle/", "entscheidungen/", "docs/entscheidungen/", "besprechungen/", "docs/besprechungen/", "actas/", "docs/actas/", "decisiones/", "docs/decisiones/", "reuniones/", "docs/reuniones/", "comptes-rendus/", "docs/comptes-rendus/", "décisions/", "docs/décisions/", "réunions/", "docs/réunions/", "решения/", "docs/решения/", "протоколы/", "docs/протоколы/", "会议/", "docs/会议/", "决策/", "docs/决策/",
    "TODO", "DECISIONS", "CONVENTIONS", "CONTRIBUTING", "MAINTAINERS", "TEAM", "CONTACTS", "docs/TODO", "docs/DECISIONS", "docs/CONVENTIONS", "docs/conventions", "docs/rules", "docs/team", "docs/contacts", "docs/people",
];

/// States of a decision that no longer holds or does not hold yet.
#[rustfmt::skip]
pub(super) const NOT_IN_FORCE: &[&str] = &[
    "superseded", "rejected", "deprecated", "proposed", "draft", "withdrawn", "obsolete", "abgelehnt", "ersetzt", "überholt", "veraltet", "vorgeschlagen", "entwurf", "отклонено", "отклонён", "заменено", "заменён", "устарело", "предложено", "черновик", "rechazad", "sustituid", "reemplazad", "obsolet", "propuest", "borrador", "rejeté", "remplacé", "obsolète", "proposé", "brouillon", "被取代", "已取代", "已废弃", "已拒绝", "否决", "草案", "提议",
];

/// Words before the state of a decision.
#[rustfmt::skip]
pub(super) const STATUS: &[&str] = &["status", "state", "zustand", "статус", "estado", "statut", "état", "状态"];
