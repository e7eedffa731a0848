//! Query parameters of robots, by day, site, robot and the program that counted them.

use std::ops::Range;

use super::{TrafficSpan, TrafficSums};
use crate::store::{
    StoreError,
    statement::{Statement, Value},
};

columns! {
    /// The day, site and robot of packed parameters.
    #[derive(Clone, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
    pub struct ParameterKey {
        /// The start of the day, in minutes since the Unix epoch.
        pub began: i64,
        /// The name of the site.
        pub site: String,
        /// The ID of the robot.
        pub robot: String,
        /// The name of the program that counted the requests.
        pub writer: String,
    }
}

columns! {
    /// The packed parameters of a robot, as counted by one program on one day.
    #[derive(Clone, Debug)]
    pub struct PackedParameters {
        /// The day, site and robot.
        pub key: ParameterKey,
        /// The packed counts.
        pub packed: String,
    }
}

statements! {
    PUT = "store query parameters",
        "INSERT INTO traffic_parameters (began, site, robot, writer, packed) \
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT (began, site, robot, writer) \
         DO UPDATE SET packed = excluded.packed";
    READ = "read query parameters",
        "SELECT began, site, robot, writer, packed FROM traffic_parameters \
         WHERE began >= $1 AND began < $2 \
         AND (CAST($3 AS TEXT) IS NULL OR site = CAST($3 AS TEXT)) \
         AND (CAST($4 AS TEXT) IS NULL OR robot = CAST($4 AS TEXT))";
    FORGET = "delete query parameters",
        "DELETE FROM traffic_parameters WHERE (CAST($1 AS TEXT) IS NULL OR robot = CAST($1 AS TEXT)) \
         AND (CAST($2 AS BIGINT) IS NULL OR began < CAST($2 AS BIGINT))";
}

impl TrafficSums<'_> {
    /// Stores the packed parameters of a robot, and replaces earlier ones with the same key.
    ///
    /// # Errors
    ///
    /// Returns an error if the statement fails.
    pub async fn put_parameters(self, key: &ParameterKey, packed: &str) -> Result<(), StoreError> {
        let values = [
            key.began.into(),
            (&key.site).into(),
            (&key.robot).into(),
            (&key.writer).into(),
            packed.into(),
        ];
        self.db.run(&PUT, &values).await
    }

    /// Returns the packed parameters of all days that a range of minutes touches, for one or all
    /// sites and robots.
    ///
    /// # Errors
    ///
    /// Returns an error if the query fails.
    pub async fn parameters(
        self,
        minutes: &Range<i64>,
        site: Option<&str>,
        robot: Option<&str>,
    ) -> Result<Vec<PackedParameters>, StoreError> {
        let first = TrafficSpan::Day.start(minutes.start);
        let values = [
            first.into(),
            minutes.end.into(),
            Value::Text(site),
            Value::Text(robot),
        ];
        self.db.rows(&READ, &values).await
    }
}

/// Returns the statement that deletes the parameters of a robot, of days that began before a given
/// minute, or both.
pub(in crate::store) fn deletion_statement() -> &'static Statement {
    &FORGET
}
