//! Words of RSL 1.0.

/// Declares the words of a list of RSL.
macro_rules! words {
    ($(#[$attribute:meta])* $Words:ident { $($(#[doc = $doc:literal])+ $variant:ident = $word:literal,)+ }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        pub enum $Words { $($(#[doc = $doc])+ $variant,)+ }

        impl $Words {
            /// Every one of them, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the word for it.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// Returns what a word names.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.as_str() == word)
            }
        }
    };
}

words! {
    /// Use of content (RSL 1.0, `usage`).
    Usage {
        /// Any use.
        All = "all",
        /// Any use by AI.
        AiAll = "ai-all",
        /// Training of models.
        AiTrain = "ai-train",
        /// Input of models, as in retrieval.
        AiInput = "ai-input",
        /// Indexes for AI.
        AiIndex = "ai-index",
        /// Search engines.
        Search = "search",
    }
}

words! {
    /// What a licence costs (RSL 1.0, `payment`).
    Payment {
        /// Nothing.
        Free = "free",
        /// The author is named.
        Attribution = "attribution",
        /// A contribution.
        Contribution = "contribution",
        /// Something for each request.
        Crawl = "crawl",
        /// Something for each training.
        Training = "training",
        /// Something for each use in an answer.
        Use = "use",
        /// Something once.
        Purchase = "purchase",
        /// Something again and again.
        Subscription = "subscription",
    }
}

impl Usage {
    /// Returns `true` if training of models is part of it.
    pub(super) fn includes_training(self) -> bool {
        matches!(self, Self::All | Self::AiAll | Self::AiTrain)
    }
}
