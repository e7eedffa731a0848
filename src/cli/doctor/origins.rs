//! Lists and files in which the addresses of requests are looked up.

use crate::clock::Clock;
use crate::origins::{ListState, PlaceState};

use super::{super::context, check::Check, run::Subject, verification::age};

/// Checks each list and file; a list that was never had is fetched.
pub(super) async fn origins(subject: &Subject<'_>, offline: bool) -> Vec<Check> {
    // The check of the configuration reports what is wrong with it.
    if let Err(error) = Box::pin(context::read_origins(subject.loaded, !offline)).await {
        return vec![Check::warning("lists", error.to_string())];
    }
    let origins = subject.loaded.origins();
    let now_ms = Clock::system().now_ms();
    let lists = origins.list_states();
    let lists = lists.iter().map(|list| of_list(list, now_ms));
    let places = origins.place_states();
    lists.chain(places.iter().map(of_place)).collect()
}

fn of_list(list: &ListState, now_ms: i64) -> Check {
    let name = format!("list {}", list.name);
    if let Some(problem) = list.problem() {
        return Check::warning(&name, problem);
    }
    let checked_ms = list.ranges.as_ref().and_then(|ranges| ranges.checked_ms);
    let age = if list.has_copy() {
        age(checked_ms, now_ms)
    } else {
        ", which come with the program".to_owned()
    };
    let networks = match list.prefixes() {
        1 => "1 network".to_owned(),
        several => format!("{several} networks"),
    };
    Check::new(name, Ok(format!("{networks} of {}{age}", list.url)))
}

fn of_place(place: &PlaceState) -> Check {
    let in_use = place.in_use.as_deref().unwrap_or_default();
    let path = place.path.display();
    let result = match place.problem() {
        Some(problem) => Err(problem),
        None => Ok(format!("{path} is {in_use}")),
    };
    Check::new(place.setting, result)
}
