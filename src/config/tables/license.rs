//! `[[license]]`.

use crate::config::table::table;
use crate::licensing::{Payment, Usage};

table! {
    /// One `[[license]]`: terms for some paths.
    pub struct LicenseSettings, LicenseKeys = "license"
        needs "a [[license]] needs terms, such as prohibits = \"ai-train\"";
    /// Paths whose content is meant, as in robots.txt; without it, everything
    path: Vec<String>;
    /// What content may be used for
    permits: Vec<Usage>;
    /// What content may not be used for
    prohibits: Vec<Usage>;
    /// What the licence costs; without it, nothing is said
    payment: Option<Payment>;
    /// How much that is, such as 0.015
    amount: String;
    /// Its currency; without it, USD
    currency: String;
    /// URL of a standard licence, such as that of a collective
    standard: String;
    /// URL at which other terms are to be had
    custom: String;
    /// URL of the licence server
    server: String;
    /// URL of the terms for people to read
    terms: String;
    /// Who holds the rights
    copyright: String;
    /// Whether text and data mining is reserved (TDMRep); without it, it is, unless training is
    /// permitted for nothing or for attribution
    tdm_reservation: Option<bool>;
    /// URL of the policy of that reservation
    tdm_policy: String;
}
