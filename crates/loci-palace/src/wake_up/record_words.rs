//! Words in the paths and headers of files that decide whether a file holds decisions or minutes.

/// Parts of the path of a file that holds decisions or minutes.
#[rustfmt::skip]
pub(super) const RECORDS: &[&str] = &[
    "adr", "adrs", "decision", "decisions", "rfc", "rfcs", "minutes", "meeting", "meetings",
    "protokoll", "protokolle", "besprechung", "besprechungen", "entscheidungen", "sitzungen",
    "reuniones", "actas", "acta", "decisiones", "réunions", "reunions", "comptes-rendus", "compte-rendus",
    "compte-rendu", "décisions", "решения", "протоколы", "протокол", "встречи", "决定", "会议",
    "会议记录", "决策", "standup", "standups", "retro", "retros", "sync",
];

/// Parts of the path of a file that was written by others, generated, or written for readers.
#[rustfmt::skip]
pub(super) const FOREIGN: &[&str] = &[
    "vendor", "vendors", "vendored", "third_party", "third-party", "thirdparty", "3rdparty",
    "external", "externals", "upstream", "node_modules", "site-packages", "deps", "submodules",
    "fixtures", "fixture", "testdata", "test", "tests", "spec", "specs", "__tests__", "examples",
    "example", "samples", "sample", "template", "templates", "archetypes", "themes", "theme",
    "dist", "build", "target", "public", "out", "generated", "gen", "logs", "log", "legal",
    "licenses", "copied", "mirror", "archive", "archives", "quotes", "refs", "references", "papers",
    "literature", "clippings", "competitors", "press", "wiki", "mail", "mails", "letters",
    "correspondence", "standards", "content", "assets", "locales", "i18n", "l10n",
];

/// The folders of a project, from its top, in which decisions and minutes usually are.
#[rustfmt::skip]
pub(super) const RECORD_FOLDERS: &[&str] = &[
    "adr/", "adrs/", "decisions/", "minutes/", "meetings/", "rfcs/", "docs/adr/", "docs/adrs/",
    "docs/decisions/", "docs/minutes/", "docs/meetings/", "docs/rfcs/",
    "docs/architecture/decisions/", "docs/architecture/adr/", "docs/architecture/",
    "docs/design/decisions/", "docs/notes/", "doc/adr/", "doc/decisions/", "doc/minutes/",
    "doc/meetings/", "notes/", "notes/meetings/", "notes/decisions/", "meeting-notes/",
    "docs/meeting-notes/", "protokolle/", "docs/protokolle/", "entscheidungen/",
    "docs/entscheidungen/", "besprechungen/", "docs/besprechungen/", "actas/", "docs/actas/",
    "decisiones/", "docs/decisiones/", "reuniones/", "docs/reuniones/", "comptes-rendus/",
    "docs/comptes-rendus/", "décisions/", "docs/décisions/", "réunions/", "docs/réunions/",
    "решения/", "docs/решения/", "протоколы/", "docs/протоколы/", "会议/", "docs/会议/", "决策/",
    "docs/决策/", "TODO", "DECISIONS", "CONVENTIONS", "CONTRIBUTING", "MAINTAINERS", "TEAM",
    "CONTACTS", "docs/TODO", "docs/DECISIONS", "docs/CONVENTIONS", "docs/conventions", "docs/rules",
    "docs/team", "docs/contacts", "docs/people",
];

/// States of a decision that no longer holds or does not hold yet.
#[rustfmt::skip]
pub(super) const NOT_IN_FORCE: &[&str] = &[
    "superseded", "rejected", "declined", "abandoned", "deprecated", "proposed", "draft", "withdrawn", "obsolete",
    "abgelehnt", "ersetzt", "überholt", "veraltet", "vorgeschlagen", "entwurf", "отклонено",
    "отклонён", "заменено", "заменён", "устарело", "предложено", "черновик", "rechazad",
    "sustituid", "reemplazad", "obsolet", "propuest", "borrador", "rejeté", "remplacé", "obsolète",
    "proposé", "brouillon", "被取代", "已取代", "已废弃", "已拒绝", "否决", "草案", "提议",
];

/// Words before the state of a decision.
#[rustfmt::skip]
pub(super) const STATUS: &[&str] = &[
    "status", "state", "zustand", "статус", "estado", "statut", "état", "状态",
];
