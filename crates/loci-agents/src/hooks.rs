//! What Loci does when an agent calls one of its hooks.
