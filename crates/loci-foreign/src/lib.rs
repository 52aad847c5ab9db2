//! Palaces of other programs, recognised and read from their files alone.
#![forbid(unsafe_code)]

mod palace;

pub use palace::{
    ForeignCollection, ForeignPalace, ForeignRecord, Kind, LostRecord, Readout, Take, VectorOrigin,
};
