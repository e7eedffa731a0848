//! Words of RSL 1.0.

robot_detection_layer::words! {
    /// Use of content (RSL 1.0, `usage`).
    pub enum Usage {
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

robot_detection_layer::words! {
    /// What a licence costs (RSL 1.0, `payment`).
    pub enum Payment {
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
