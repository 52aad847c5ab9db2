//! Words that prompts to coding agents contain whatever they are about. A drawer that contains them
//! says little about the prompt.

/// The words in lower case, in alphabetical order.
#[rustfmt::skip]
const EVERYDAY: &[&str] = &[
    "add", "after", "again", "ahead", "all", "also", "always", "apply", "argument", "arguments",
    "array", "async", "back", "binary", "branch", "bug", "bugs", "build", "builds", "button",
    "bytes", "cache", "call", "callers", "calls", "case", "change", "changes", "check", "class",
    "clean", "cli", "click", "client", "code", "column", "command", "comment", "comments",
    "commit", "commits", "compile", "compiler", "component", "config", "configuration", "console",
    "container", "continue", "convert", "copy", "crash", "crashes", "create", "css", "csv",
    "current", "data", "database", "date", "debug", "default", "delete", "dependencies",
    "dependency", "deploy", "deployment", "describe", "diff", "docker", "docs", "document",
    "documentation", "done", "download", "email", "empty", "endpoint", "env", "environment",
    "error", "errors", "example", "exception", "exists", "explain", "export", "extract", "fail",
    "failed", "failing", "fails", "fast", "faster", "feature", "field", "file", "files", "filter",
    "find", "finish", "first", "fix", "fixed", "flag", "flow", "folder", "form", "format",
    "function", "functions", "generate", "get", "git", "github", "go", "going", "good", "great",
    "handle", "header", "hide", "hint", "hints", "html", "image", "images", "implement", "import",
    "improve", "index", "input", "insert", "install", "interface", "issue", "java", "javascript",
    "json", "keep", "key", "kill", "large", "last", "layout", "lib", "library", "line", "lines",
    "link", "lint", "list", "load", "loading", "local", "log", "logger", "logging", "logs",
    "loop", "main", "make", "markdown", "max", "memory", "merge", "message", "method",
    "middleware", "migrate", "migration", "missing", "mock", "mode", "module", "modules", "move",
    "name", "names", "network", "new", "next", "nice", "node", "null", "number", "open",
    "optimize", "option", "order", "output", "package", "page", "param", "parameter", "parse",
    "password", "path", "performance", "pick", "pip", "plan", "please", "port", "print",
    "problem", "process", "production", "project", "prompt", "proper", "pull", "push", "put",
    "python", "query", "question", "random", "read", "readme", "rebase", "red", "refactor",
    "regex", "release", "remove", "rename", "replace", "repo", "repository", "request", "reset",
    "response", "result", "return", "returns", "revert", "review", "rewrite", "right", "route",
    "row", "rows", "run", "running", "rust", "save", "schema", "screen", "script", "search",
    "select", "send", "sentence", "server", "service", "session", "set", "settings", "setup",
    "shell", "ship", "short", "show", "simplify", "size", "slow", "snippet", "sort", "split",
    "sql", "stack", "start", "state", "stop", "string", "style", "summarize", "summary",
    "support", "sure", "table", "tag", "target", "task", "template", "terminal", "test", "tests",
    "text", "thanks", "thread", "time", "timeout", "todo", "token", "trace", "translate", "type",
    "types", "typescript", "typo", "undo", "unit", "unused", "update", "upgrade", "upload", "url",
    "use", "user", "users", "using", "utils", "valid", "validate", "validation", "value",
    "values", "variable", "variables", "version", "view", "warning", "web", "wrap", "write",
    "wrong", "yaml", "yes",
];

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
        assert!(EVERYDAY.is_sorted());
        assert!(is_everyday("README") && is_everyday("typo") && !is_everyday("Marta"));
    }
}
