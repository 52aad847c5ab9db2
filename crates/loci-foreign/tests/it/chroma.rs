//! Directories that the real chromadb wrote, damaged, and how Loci and the real chromadb read them.
#![allow(dead_code, unreachable_pub, clippy::print_stdout)]

mod candidates;
mod catalogue;
mod hostile;
mod lengths;
mod lost_rows;
mod random;
mod segments;
mod survey;
mod swapped;
