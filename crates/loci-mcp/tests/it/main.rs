//! What the server offers: the schemas of its tools, and what they cost a model.

mod schemas;
