//! sm
