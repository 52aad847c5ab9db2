//! Schemas of the tools: parameters with MemPalace's names, types and bounds, and the keys of answers. No key of an answer is
//! required: a refusal has `error` instead.

use serde_json::{Map, Value, json};

/// What a parameter may be.
#[derive(Debug, Clone, Copy)]
enum Type {
    Text,
    Query,
    Number,
    Flag,
    Whole,
    Page,
    Offset,
    OneOf(&'static [&'static str]),
}

/// A parameter: name, type, whether it is needed, and what it means.
type Parameter = (&'static str, Type, bool, &'static str);

const WING: Parameter = ("wing", Type::Text, false, "Only this wing");
const ROOM: Parameter = ("room", Type::Text, false, "Only this room");
const SINCE: Parameter = (
    "since",
    Type::Text,
    false,
    "Filed on or after this ISO date or time",
);
const BEFORE: Parameter = (
    "before",
    Type::Text,
    false,
    "Filed before this ISO date or time",
);
const DRAWER: Parameter = ("drawer_id", Type::Text, true, "Id of the drawer");
const SUBJECT: Parameter = ("subject", Type::Text, true, "Subject of the fact");
const PREDICATE: Parameter = ("predicate", Type::Text, true, "Relation, e.g. works_on");
const OBJECT: Parameter = ("object", Type::Text, true, "Object of the fact");
const AGENT: Parameter = ("agent_name", Type::Text, true, "Agent name");

fn parameters(tool: &str) -> &'static [Parameter] {
    match tool {
        "list_rooms" => &[WING],
        "search" => &[
            ("query", Type::Query, true, "Keywords or a question"),
            ("limit", Type::Page, false, "Maximum hits; default 5"),
            WING,
            ROOM,
            (
                "source_file",
                Type::Text,
                false,
                "Only this source: a hit's source_path",
            ),
            SINCE,
            BEFORE,
            (
                "max_distance",
                Type::Number,
                false,
                "Maximum distance (0 same, 2 opposite); default 1.5, 0 for no limit",
            ),
            (
                "candidate_strategy",
                Type::OneOf(&["vector", "union"]),
                false,
                "No effect",
            ),
            ("cli_compatible", Type::Flag, false, "No effect"),
            ("include_media", Type::Flag, false, "No effect"),
            (
                "query_task",
                Type::OneOf(&["search", "code"]),
                false,
                "No effect",
            ),
            ("context", Type::Text, false, "Not searched for"),
        ],
        "check_duplicate" => &[
            ("content", Type::Text, true, "The text"),
            (
                "threshold",
                Type::Number,
                false,
                "Minimum similarity; default 0.9",
            ),
        ],
        "get_drawer" | "delete_drawer" => &[DRAWER],
        "list_drawers" => &[
            WING,
            ROOM,
            SINCE,
            BEFORE,
            ("limit", Type::Page, false, "Maximum drawers; default 20"),
            ("offset", Type::Offset, false, "Drawers to skip"),
        ],
        "add_drawer" => &[
            ("wing", Type::Text, true, "Person or project"),
            ("room", Type::Text, true, "Topic"),
            ("content", Type::Text, true, "The text, word for word"),
            ("source_file", Type::Text, false, "Its source"),
            ("added_by", Type::Text, false, "Author; default mcp"),
        ],
        "update_drawer" => &[
            DRAWER,
            ("content", Type::Text, false, "New text"),
            ("wing", Type::Text, false, "New wing"),
            ("room", Type::Text, false, "New room"),
        ],
        "kg_query" => &[
            ("entity", Type::Text, true, "Entity to look up"),
            (
                "as_of",
                Type::Text,
                false,
                "Only facts valid then: a date or UTC time",
            ),
            (
                "direction",
                Type::Text,
                false,
                "outgoing, incoming or both; default both",
            ),
        ],
        "kg_add" => &[
            SUBJECT,
            PREDICATE,
            OBJECT,
            (
                "valid_from",
                Type::Text,
                false,
                "Start: YYYY-MM-DD or a UTC time",
            ),
            ("valid_to", Type::Text, false, "End"),
            ("source_closet", Type::Text, false, "Kept with the fact"),
            ("source_file", Type::Text, false, "Kept with the fact"),
            ("source_drawer_id", Type::Text, false, "Its source drawer"),
        ],
        "kg_invalidate" => &[
            SUBJECT,
            PREDICATE,
            OBJECT,
            ("ended", Type::Text, false, "When it ended; default today"),
        ],
        "kg_timeline" => &[
            ("entity", Type::Text, false, "Only facts that name it"),
            ("limit", Type::Page, false, "Maximum facts; default 100"),
            ("offset", Type::Offset, false, "Facts to skip"),
        ],
        "traverse" => &[
            ("start_room", Type::Text, true, "Where to start"),
            ("max_hops", Type::Whole, false, "1 to 10; default 2"),
        ],
        "find_tunnels" => &[
            ("wing_a", Type::Text, false, "Only rooms of this wing"),
            ("wing_b", Type::Text, false, "that are also in this one"),
        ],
        "diary_write" => &[
            AGENT,
            ("entry", Type::Text, false, "The text"),
            ("topic", Type::Text, false, "Topic; default general"),
            ("wing", Type::Text, false, "Wing; default the agent's own"),
            ("content", Type::Text, false, "Another name for entry"),
        ],
        "diary_read" => &[
            AGENT,
            (
                "last_n",
                Type::Whole,
                false,
                "Maximum entries, to 100; default 10",
            ),
            WING,
        ],
        _ => &[],
    }
}

/// Schema of a tool's arguments.
pub(super) fn input(tool: &str) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, kind, needed, meaning) in parameters(tool) {
        let mut schema = match kind {
            Type::Text => json!({"type": "string"}),
            Type::Query => json!({"type": "string", "maxLength": 250}),
            Type::Number => json!({"type": "number"}),
            Type::Flag => json!({"type": "boolean"}),
            Type::Whole => json!({"type": "integer"}),
            Type::Page => json!({"type": "integer", "minimum": 1, "maximum": 100}),
            Type::Offset => json!({"type": "integer", "minimum": 0}),
            Type::OneOf(choices) => json!({"type": "string", "enum": choices}),
        };
        if let Some(schema) = schema.as_object_mut() {
            schema.insert("description".into(), (*meaning).into());
        }
        properties.insert((*name).to_owned(), schema);
        required.extend(needed.then_some(*name));
    }
    let mut schema = json!({"type": "object", "properties": properties});
    if let (false, Some(schema)) = (required.is_empty(), schema.as_object_mut()) {
        schema.insert("required".into(), json!(required));
    }
    schema
}

/// Keys of an answer, each with the first letter of its type: string, number, boolean, list, object, or anything.
fn keys(tool: &str) -> &'static [(&'static str, char)] {
    match tool {
        "status" => &[
            ("total_drawers", 'n'),
            ("wings", 'o'),
            ("rooms", 'o'),
            ("protocol", 's'),
            ("aaak_dialect", 's'),
        ],
        "list_wings" => &[("wings", 'o')],
        "list_rooms" => &[("wing", 's'), ("rooms", 'o')],
        "get_taxonomy" => &[("taxonomy", 'o')],
        "search" => &[
            ("query", 's'),
            ("filters", 'o'),
            ("total_before_filter", 'n'),
            ("results", 'l'),
        ],
        "check_duplicate" => &[("is_duplicate", 'b'), ("matches", 'l')],
        "get_drawer" => &[
            ("drawer_id", 's'),
            ("content", 's'),
            ("wing", 's'),
            ("room", 's'),
            ("metadata", 'o'),
        ],
        "list_drawers" => &[
            ("drawers", 'l'),
            ("total", 'n'),
            ("count", 'n'),
            ("offset", 'n'),
            ("limit", 'n'),
        ],
        "add_drawer" | "update_drawer" => &[
            ("success", 'b'),
            ("drawer_id", 's'),
            ("wing", 's'),
            ("room", 's'),
            ("chunks", 'n'),
        ],
        "delete_drawer" => &[
            ("success", 'b'),
            ("drawer_id", 's'),
            ("deleted_ids", 'l'),
            ("chunks_deleted", 'n'),
        ],
        "kg_query" => &[
            ("entity", 's'),
            ("as_of", 'a'),
            ("facts", 'l'),
            ("active_facts", 'l'),
            ("historical_facts", 'l'),
            ("future_facts", 'l'),
            ("count", 'n'),
        ],
        "kg_add" => &[("success", 'b'), ("triple_id", 's'), ("fact", 's')],
        "kg_invalidate" => &[("success", 'b'), ("fact", 's'), ("ended", 's')],
        "kg_timeline" => &[
            ("entity", 's'),
            ("timeline", 'l'),
            ("count", 'n'),
            ("total", 'n'),
            ("offset", 'n'),
            ("limit", 'n'),
        ],
        "traverse" => &[("result", 'l'), ("suggestions", 'l')],
        "find_tunnels" => &[("result", 'l')],
        "diary_write" => &[
            ("success", 'b'),
            ("entry_id", 's'),
            ("agent", 's'),
            ("topic", 's'),
            ("timestamp", 's'),
            ("chunks", 'n'),
        ],
        "diary_read" => &[
            ("agent", 's'),
            ("entries", 'l'),
            ("total", 'n'),
            ("showing", 'n'),
            ("message", 's'),
        ],
        "reconnect" => &[
            ("success", 'b'),
            ("message", 's'),
            ("drawers", 'n'),
            ("vector_disabled", 'b'),
        ],
        _ => &[],
    }
}

/// Schema of a tool's structured answer.
pub(super) fn output(tool: &str) -> Value {
    let always = [("error", 's'), ("hint", 's'), ("warnings", 'l')];
    let properties: Map<String, Value> = keys(tool)
        .iter()
        .chain(&always)
        .map(|(key, kind)| {
            let schema = match kind {
                's' => json!({"type": "string"}),
                'n' => json!({"type": "number"}),
                'b' => json!({"type": "boolean"}),
                'l' => json!({"type": "array"}),
                'o' => json!({"type": "object"}),
                _ => json!({}),
            };
            ((*key).to_owned(), schema)
        })
        .collect();
    json!({"type": "object", "properties": properties})
}
