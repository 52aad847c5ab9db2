//! Entries for Loci in the configuration of agents: shown, made, and undone exactly.
