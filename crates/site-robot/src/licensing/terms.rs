//! Licence terms for the content below certain paths.

use super::{Payment, Usage};

/// Terms of use for content: an RSL licence and an entry of the TDM Reservation Protocol.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[must_use]
#[expect(clippy::struct_field_names, reason = "the names are those of RSL")]
pub struct Terms {
    /// Path patterns, as in robots.txt; if empty, the terms apply to all paths.
    pub(super) paths: Vec<String>,
    pub(super) permits: Vec<Usage>,
    pub(super) prohibits: Vec<Usage>,
    pub(super) payment: Option<Payment>,
    /// Amount and currency of the payment.
    pub(super) amount: Option<(String, String)>,
    pub(super) standard: Option<String>,
    pub(super) custom: Option<String>,
    pub(super) server: Option<String>,
    pub(super) terms: Option<String>,
    pub(super) copyright: Option<String>,
    pub(super) tdm_reservation: Option<bool>,
    pub(super) tdm_policy: Option<String>,
}

/// Error for invalid terms, with advice on how to fix them.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{reason}")]
pub struct TermsError {
    key: &'static str,
    reason: String,
}

impl TermsError {
    pub(super) fn new(key: &'static str, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self { key, reason }
    }

    /// Returns the configuration key of the invalid setting.
    pub fn key(&self) -> &'static str {
        self.key
    }
}

/// Declares setters for URLs.
macro_rules! urls {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {$(
        $(#[doc = $doc])+
        ///
        /// # Errors
        ///
        /// Returns an error if the address is not a URL with the scheme `http:` or `https:`.
        pub fn $name(mut self, address: &str) -> Result<Self, TermsError> {
            self.$name = Some(url(stringify!($name), address)?);
            Ok(self)
        }
    )+};
}

impl Terms {
    /// Creates empty terms, which apply to all paths.
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces the path patterns, which use the syntax of robots.txt; the default is all paths.
    ///
    /// # Errors
    ///
    /// Returns an error if a path does not start with `/`, or contains white space.
    pub fn paths<S: AsRef<str>>(
        mut self,
        paths: impl IntoIterator<Item = S>,
    ) -> Result<Self, TermsError> {
        let paths = paths.into_iter().map(|path| checked_path(path.as_ref()));
        self.paths = paths.collect::<Result<_, _>>()?;
        Ok(self)
    }

    /// Replaces the list of permitted uses of the content.
    pub fn permits(mut self, uses: impl IntoIterator<Item = Usage>) -> Self {
        self.permits = uses.into_iter().collect();
        self
    }

    /// Replaces the list of prohibited uses of the content.
    pub fn prohibits(mut self, uses: impl IntoIterator<Item = Usage>) -> Self {
        self.prohibits = uses.into_iter().collect();
        self
    }

    /// Sets the kind of payment required for the licence.
    pub fn payment(mut self, payment: Payment) -> Self {
        self.payment = Some(payment);
        self
    }

    /// Sets the price of the licence, such as `0.015` and `USD`.
    ///
    /// # Errors
    ///
    /// Returns an error if the amount is not a decimal number, or the currency is not an ISO 4217
    /// code.
    pub fn amount(mut self, amount: &str, currency: &str) -> Result<Self, TermsError> {
        let (whole, part) = amount.split_once('.').unwrap_or((amount, "0"));
        let is_number = |text: &str| {
            (1..=12).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        if !is_number(whole) || !is_number(part) {
            let reason = format!("{amount:?} is not an amount such as 0.015");
            return Err(TermsError::new("amount", reason));
        }
        if currency.len() != 3 || !currency.bytes().all(|byte| byte.is_ascii_uppercase()) {
            let reason = format!("{currency:?} is not a currency such as USD or EUR");
            return Err(TermsError::new("currency", reason));
        }
        self.amount = Some((amount.to_owned(), currency.to_owned()));
        Ok(self)
    }

    /// Sets the copyright holder.
    ///
    /// # Errors
    ///
    /// Returns an error if the text has more than one line.
    pub fn copyright(mut self, holder: &str) -> Result<Self, TermsError> {
        if holder.contains(char::is_control) {
            return Err(TermsError::new(
                "copyright",
                "copyright must be a single line",
            ));
        }
        self.copyright = Some(holder.to_owned());
        Ok(self)
    }

    urls! {
        /// Sets the URL of a standard licence, such as the licence of a collective.
        standard,
        /// Sets the URL at which other terms can be requested.
        custom,
        /// Sets the URL of the licence server (RSL Open License Protocol).
        server,
        /// Sets the URL of human-readable terms.
        terms,
        /// Sets the URL of the reservation policy (`tdm-policy`).
        tdm_policy,
    }

    /// Sets whether text and data mining is reserved.
    ///
    /// The default is `true`, unless training is permitted for free or in return for attribution.
    pub fn tdm_reservation(mut self, reserved: bool) -> Self {
        self.tdm_reservation = Some(reserved);
        self
    }

    /// Returns `true` if text and data mining is reserved.
    pub fn is_reserved(&self) -> bool {
        self.tdm_reservation
            .unwrap_or_else(|| !self.permits_free_training())
    }

    /// Returns `true` if the training of models is permitted for free or in return for attribution.
    fn permits_free_training(&self) -> bool {
        let is_free = matches!(
            self.payment,
            None | Some(Payment::Free | Payment::Attribution)
        );
        is_free && self.permits.iter().any(|usage| usage.includes_training())
    }

    /// Returns the path patterns of the terms.
    pub fn about(&self) -> impl Iterator<Item = &str> {
        let everything = self.paths.is_empty().then_some("/");
        everything
            .into_iter()
            .chain(self.paths.iter().map(String::as_str))
    }

    /// Checks that the terms are neither empty nor contradictory.
    pub(super) fn check(&self) -> Result<(), TermsError> {
        let both = self
            .permits
            .iter()
            .find(|usage| self.prohibits.contains(usage));
        if let Some(both) = both {
            let reason = format!(
                "{} is also permitted; remove it from one list",
                both.as_str()
            );
            return Err(TermsError::new("prohibits", reason));
        }
        if self.amount.is_some() && matches!(self.payment, None | Some(Payment::Free)) {
            let reason = "amount requires a payment; set payment, such as crawl, or remove amount";
            return Err(TermsError::new("amount", reason));
        }
        if self.payment.is_none() && (self.standard.is_some() || self.custom.is_some()) {
            let reason =
                "standard and custom require a payment; specify one, such as payment = \"crawl\"";
            return Err(TermsError::new("payment", reason));
        }
        let says_licence = self.has_licence() || self.terms.is_some();
        if !says_licence && self.tdm_reservation.is_none() {
            let reason = "the terms are empty; set prohibits, permits, payment or terms";
            return Err(TermsError::new("permits", reason));
        }
        Ok(())
    }

    pub(super) fn has_licence(&self) -> bool {
        !self.permits.is_empty() || !self.prohibits.is_empty() || self.payment.is_some()
    }
}

fn checked_path(path: &str) -> Result<String, TermsError> {
    let path = path.trim();
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || c == '#';
    if !path.starts_with('/') || path.contains(is_odd) {
        let reason = format!("{path:?} is not a path such as /articles/ or /*.pdf$");
        return Err(TermsError::new("path", reason));
    }
    Ok(path.to_owned())
}

fn url(key: &'static str, address: &str) -> Result<String, TermsError> {
    let wrong = || {
        let reason = format!("{address:?} is not a URL such as https://www.example.com/x");
        TermsError::new(key, reason)
    };
    let parsed = url::Url::parse(address).map_err(|_| wrong())?;
    // The document is public, so a password in the URL would be published.
    let is_safe = parsed.username().is_empty() && parsed.password().is_none();
    let is_odd = |c: char| c.is_whitespace() || c.is_control();
    if matches!(parsed.scheme(), "http" | "https") && is_safe && !address.contains(is_odd) {
        Ok(address.to_owned())
    } else {
        Err(wrong())
    }
}
