//! Words that prompts to coding agents contain whatever they are about. A drawer that contains them
//! says little about the prompt.

/// The words in lower case, in alphabetical order.
#[rustfmt::skip]
const EVERYDAY: &[&str] = &[
    "add", "after", "again", "ahead", "all", "also", "always", "apply", "argument", "arguments",
    "array", "async", "back", "batch", "binary", "branch", "bug", "bugs", "build", "builds",
    "button", "bytes", "cache", "call", "callers", "calls", "case", "change", "changes", "check",
    "class", "clean", "cli", "click", "client", "code", "column", "command", "comment", "comments",
    "commit", "commits", "compile", "compiler", "component", "config", "configuration", "console",
    "container", "continue", "convert", "copy", "crash", "crashes", "create", "css", "csv",
    "current", "data", "database", "date", "debug", "default", "delete", "dependencies",
    "dependency", "deploy", "deployment", "describe", "diff", "docker", "docs", "document",
    "documentation", "done", "download", "email", "empty", "endpoint", "env", "environment",
    "error", "errors", "example", "exception", "exists", "explain", "export", "extract", "fail",
    "failed", "failing", "fails", "fast", "faster", "feature", "field", "file", "files", "filter",
    "find", "finish", "first", "fix", "fixed", "flag", "flow", "folder", "form", "format",
    "function", "functions", "generate", "get", "git", "github", "go", "going", "good", "great",
    "handle", "header", "helper", "helpers", "hide", "hint", "hints", "html", "image", "images",
    "implement", "import", "improve", "index", "input", "insert", "install", "interface", "issue",
    "java", "javascript", "json", "keep", "key", "kill", "large", "last", "layout", "lib",
    "library", "line", "lines", "link", "lint", "list", "load", "loading", "local", "log",
    "logger", "logging", "logs", "loop", "main", "make", "markdown", "max", "memory", "merge",
    "message", "method", "middleware", "migrate", "migration", "missing", "mock", "mode", "module",
    "modules", "move", "name", "names", "network", "new", "next", "nice", "node", "null", "number",
    "open", "optimize", "option", "order", "output", "package", "page", "param", "parameter",
    "parse", "password", "path", "performance", "pick", "pip", "plan", "please", "port", "print",
    "problem", "process", "production", "project", "prompt", "proper", "pull", "push", "put",
    "python", "query", "question", "random", "read", "readme", "rebase", "red", "refactor",
    "regex", "release", "remove", "rename", "replace", "repo", "repository", "request", "reset",
    "response", "result", "return", "returns", "revert", "review", "rewrite", "right", "route",
    "row", "rows", "run", "running", "rust", "save", "schema", "screen", "script", "search",
    "select", "send", "sentence", "separate", "server", "service", "session", "set", "settings",
    "setup", "shell", "ship", "short", "show", "simplify", "size", "slow", "snippet", "sort",
    "split", "sql", "stack", "start", "state", "stop", "string", "style", "summarize", "summary",
    "support", "sure", "table", "tag", "target", "task", "template", "terminal", "test", "tests",
    "text", "thanks", "thread", "time", "timeout", "todo", "token", "trace", "translate", "type",
    "types", "typescript", "typo", "undo", "unit", "unused", "update", "upgrade", "upload", "url",
    "use", "user", "users", "using", "utils", "valid", "validate", "validation", "value", "values",
    "variable", "variables", "version", "view", "warning", "web", "worker", "workers", "wrap",
    "write", "wrong", "yaml", "yes",
];

/// Words of other languages that carry no meaning by themselves, in alphabetical order. The table of
/// the default embedder takes them for rare words. Words that mean something in English, such as
/// "war" and "hat", are not among them.
#[rustfmt::skip]
const FUNCTION_WORDS: &[&str] = &[
    "aber", "ainsi", "algo", "alle", "alors", "als", "anche", "ans", "ante", "antes", "até",
    "auch", "auf", "aus", "aux", "avec", "avoir", "bei", "beim", "bien", "bin", "bis", "bist",
    "bitte", "brauche", "cada", "cela", "celle", "celui", "ces", "cette", "ceux", "che", "chi",
    "ci", "ciò", "como", "con", "così", "cual", "cuando", "cuándo", "da", "dalla", "damit", "dann",
    "dans", "das", "dass", "de", "deine", "del", "della", "delle", "dem", "den", "depois", "der",
    "deren", "des", "desde", "deshalb", "dich", "die", "diese", "diesem", "diesen", "dieser",
    "dieses", "dir", "doch", "donc", "donde", "dort", "du", "durch", "dus", "dá", "dónde", "een",
    "ein", "eine", "einem", "einen", "einer", "eines", "elle", "elles", "em", "en", "entre", "er",
    "era", "es", "esa", "ese", "eso", "esta", "este", "esto", "está", "están", "et", "euch",
    "fait", "fue", "für", "gegen", "gibt", "habe", "haben", "hace", "hacer", "han", "hasta",
    "hatte", "hay", "het", "hoe", "há", "ich", "ihm", "ihn", "ihnen", "ihr", "ihre", "il", "ils",
    "im", "immer", "ins", "ist", "ja", "je", "jede", "jetzt", "kann", "kannst", "kein", "keine",
    "können", "la", "las", "le", "les", "leur", "lo", "los", "lui", "lösche", "mach", "mais",
    "mas", "mehr", "mein", "meine", "mes", "met", "mi", "mich", "mir", "mit", "moi", "muito",
    "muss", "muy", "nach", "ne", "nein", "nel", "nella", "nicht", "nichts", "niet", "noch", "non",
    "nos", "notre", "nous", "nur", "não", "ob", "oder", "ohne", "oui", "où", "para", "pas",
    "perché", "pero", "però", "peut", "più", "por", "porque", "pour", "pourquoi", "qual", "quand",
    "quando", "que", "quel", "quelle", "qui", "quién", "quoi", "qué", "sa", "schon", "sehr",
    "sein", "seine", "ses", "si", "sich", "sie", "sind", "sino", "sobre", "soll", "sollte", "sono",
    "sont", "su", "sua", "suis", "sur", "sí", "también", "te", "tiene", "todo", "toi", "très",
    "tu", "um", "un", "una", "unas", "und", "une", "uno", "uns", "unser", "unsere", "unter", "van",
    "vielleicht", "vom", "von", "vor", "vous", "wann", "waren", "warum", "wat", "weil", "welche",
    "welcher", "wenn", "werden", "wie", "wieder", "wir", "wird", "wo", "worden", "wurde", "wurden",
    "ya", "yo", "zij", "zu", "zum", "zur", "zwischen", "à", "ça", "è", "é", "était", "être",
    "über", "а", "без", "бы", "был", "была", "было", "быть", "в", "вам", "вас", "весь", "во",
    "вот", "все", "всё", "вы", "где", "да", "для", "до", "его", "ее", "если", "есть", "еще", "ещё",
    "её", "же", "за", "и", "из", "или", "им", "их", "к", "как", "какая", "какие", "какой", "ко",
    "когда", "которые", "который", "кто", "ли", "мне", "можно", "мой", "моя", "мы", "на", "над",
    "надо", "нам", "нас", "не", "него", "нет", "ни", "но", "ну", "нужно", "о", "об", "он", "она",
    "они", "оно", "от", "очень", "по", "под", "после", "потом", "потому", "почему", "при", "про",
    "с", "сколько", "со", "так", "также", "там", "то", "того", "тоже", "только", "тот", "ты", "у",
    "уже", "чем", "через", "что", "чтобы", "это", "этот", "эту", "я",
];

/// Whether a word carries no meaning by itself in a language other than English, in any case.
pub(crate) fn is_function_word(word: &str) -> bool {
    let word = word.to_lowercase();
    FUNCTION_WORDS.binary_search(&word.as_str()).is_ok()
}

/// Whether a word belongs to everyday prompts, in any case.
pub(crate) fn is_everyday(word: &str) -> bool {
    let word = word.to_lowercase();
    EVERYDAY.binary_search(&word.as_str()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_sorted_and_are_found_in_any_case() {
        assert!(EVERYDAY.is_sorted() && FUNCTION_WORDS.is_sorted());
        assert!(is_everyday("README") && is_everyday("typo") && !is_everyday("Marta"));
    }
}
