//! Vocabularies of RSL 1.0 and of the AI Preferences.

robot_detection_layer::words! {
    /// A use of content (RSL 1.0, `usage`).
    pub enum Usage {
        /// Any use of the content.
        All = "all",
        /// Any use by AI systems.
        AiAll = "ai-all",
        /// Training of AI models.
        AiTrain = "ai-train",
        /// Input for AI models, for example in retrieval-augmented generation.
        AiInput = "ai-input",
        /// Search indexes for AI systems.
        AiIndex = "ai-index",
        /// Indexing by search engines.
        Search = "search",
    }
}

robot_detection_layer::words! {
    /// A use of content, named as in draft-ietf-aipref-vocab-08 §4.
    pub enum ContentUse {
        /// Training of generative AI models.
        Training = "train-ai",
        /// Input for generative AI models.
        Input = "ai-use",
        /// Indexing by search engines.
        Search = "search",
    }
}

robot_detection_layer::words! {
    /// Kind of payment for a licence (RSL 1.0, `payment`).
    pub enum Payment {
        /// Use is free of charge.
        Free = "free",
        /// Use requires attribution of the author.
        Attribution = "attribution",
        /// A voluntary contribution.
        Contribution = "contribution",
        /// A payment for each request.
        Crawl = "crawl",
        /// A payment for each training run.
        Training = "training",
        /// A payment for each use in a response.
        Use = "use",
        /// A one-time payment.
        Purchase = "purchase",
        /// A recurring payment.
        Subscription = "subscription",
    }
}

impl Usage {
    /// Returns `true` if the use includes the training of models.
    pub(super) fn includes_training(self) -> bool {
        matches!(self, Self::All | Self::AiAll | Self::AiTrain)
    }
}
