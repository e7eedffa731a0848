//! Statements about live rules.

use super::super::{sql::statements, statement::Statement};

statements! {
    STATE = "read the state of the live rules",
        "SELECT version, pause_ends_ms, paused_ms, paused_by FROM live_rules_state WHERE id = 1";
    // First in each transaction: the row makes those wait who change something at the same time.
    BUMP = "tell of a change of the live rules",
        "UPDATE live_rules_state SET version = version + 1 WHERE id = 1";
    RULES = "read the live rules",
        "SELECT rule_id, definition, name, created_ms, created_by, ends_ms FROM live_rules \
         WHERE removed_ms IS NULL AND (ends_ms IS NULL OR ends_ms > $1) ORDER BY rule_id LIMIT $2";
    NAMED = "read a live rule by its name",
        "SELECT rule_id, definition, name, created_ms, created_by, ends_ms FROM live_rules \
         WHERE name = $1 AND removed_ms IS NULL AND (ends_ms IS NULL OR ends_ms > $2)";
    REMOVED = "read the live rules that can be brought back",
        "SELECT rule_id FROM live_rules WHERE removed_ms IS NOT NULL \
         AND (ends_ms IS NULL OR ends_ms > $1) ORDER BY rule_id";
    COUNT = "count the live rules",
        "SELECT COUNT(*) FROM live_rules \
         WHERE removed_ms IS NULL AND (ends_ms IS NULL OR ends_ms > $1)";
    ADD = "add a live rule",
        "INSERT INTO live_rules (definition, name, created_ms, created_by, ends_ms) \
         VALUES ($1, $2, $3, $4, $5) RETURNING rule_id";
    REMOVE = "remove a live rule",
        "UPDATE live_rules SET removed_ms = $2 WHERE rule_id = $1 AND removed_ms IS NULL \
         AND (ends_ms IS NULL OR ends_ms > $2) RETURNING definition";
    RESTORE = "bring a live rule back",
        "UPDATE live_rules SET removed_ms = NULL WHERE rule_id = $1 AND removed_ms IS NOT NULL \
         AND (ends_ms IS NULL OR ends_ms > $2) AND NOT EXISTS (SELECT 1 FROM live_rules other \
         WHERE other.name = live_rules.name AND other.removed_ms IS NULL \
         AND (other.ends_ms IS NULL OR other.ends_ms > $2)) RETURNING definition";
    PRUNE = "forget live rules that have ended",
        "DELETE FROM live_rules WHERE ends_ms < $1 OR removed_ms < $1";
    PAUSE = "pause all enforcement",
        "UPDATE live_rules_state SET pause_ends_ms = $1, paused_ms = $2, paused_by = $3 \
         WHERE id = 1";
    RESUME = "resume enforcement",
        "UPDATE live_rules_state SET pause_ends_ms = NULL WHERE id = 1 AND pause_ends_ms > $1";
}

/// Returns every statement that can be asked for.
pub(in crate::store) fn every_statement() -> Vec<Statement> {
    FIXED.iter().copied().cloned().collect()
}
