//! Palaces of other programs, recognised and read from their files alone.
#![forbid(unsafe_code)]
