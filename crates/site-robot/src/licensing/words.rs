//! Vocabulary of RSL 1.0.

robot_detection_layer::words! {
    /// Use of content (RSL 1.0, `usage`).
    pub enum Usage {
        /// Any use of the content.
        All = "all",
        /// Any use by AI systems.
        AiAll = "ai-all",
        /// Training of models.
        AiTrain = "ai-train",
        /// Input for models, as in retrieval.
        AiInput = "ai-input",
        /// Search indexes for AI systems.
        AiIndex = "ai-index",
        /// Indexing by search engines.
        Search = "search",
    }
}

robot_detection_layer::words! {
    /// Payment for a licence (RSL 1.0, `payment`).
    pub enum Payment {
        /// Use is free of charge.
        Free = "free",
        /// Use requires attribution of the author.
        Attribution = "attribution",
        /// Voluntary contribution.
        Contribution = "contribution",
        /// Payment per request.
        Crawl = "crawl",
        /// Payment per training run.
        Training = "training",
        /// Payment per use in a response.
        Use = "use",
        /// One-time payment.
        Purchase = "purchase",
        /// Recurring payment.
        Subscription = "subscription",
    }
}

impl Usage {
    /// Returns `true` if the use includes training of models.
    pub(super) fn includes_training(self) -> bool {
        matches!(self, Self::All | Self::AiAll | Self::AiTrain)
    }
}
