//! Palace: the one API that every front end uses.
