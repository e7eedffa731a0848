//! Export formats of a registry.

crate::words! {
    /// A format in which a registry can be exported.
    #[derive(Hash)]
    #[non_exhaustive]
    pub enum ExportFormat {
        /// The flat file of the Web Robots Database.
        WebRobotsDb = "web-robots-db",
        /// A list with one token per line.
        List = "list",
        /// An nginx `map` from the User-Agent to the robot's ID.
        Nginx = "nginx",
        /// A `HAProxy` map, in which each line contains a regular expression and a robot's ID.
        HaProxy = "haproxy",
        /// Groups of a robots.txt that exclude the exported robots.
        RobotsTxt = "robots-txt",
    }
}

impl ExportFormat {
    /// Returns the usual name of a file in this format.
    #[must_use]
    pub fn file_name(self) -> &'static str {
        match self {
            Self::WebRobotsDb => "all.txt",
            Self::List => "robots.list",
            Self::Nginx => "robots.conf",
            Self::HaProxy => "robots.map",
            Self::RobotsTxt => "robots.txt",
        }
    }
}
