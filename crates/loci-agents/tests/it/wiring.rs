//! Connecting and disconnecting, on files as written by agents and by people.

mod crash;
mod edited;
mod fixtures;
mod left_out;
mod mempalace;
mod merge;
mod plugins;
mod random;
mod round_trip;
mod scene;
mod survey;
