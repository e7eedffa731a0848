//! A vector that keeps its first items in place.

use std::{array, mem::take, ops::Deref};

/// List that holds up to `N` items in place, and more as a vector does.
///
/// Many files have one group of one robot, and few rules. It does less than the crate of
/// that name, which would be one dependency more for all who use the layer alone.
#[derive(Clone, Debug)]
pub(super) enum SmallVec<T, const N: usize> {
    /// The first of these are in the list.
    Inline([T; N], usize),
    Heap(Vec<T>),
}

impl<T: Default, const N: usize> SmallVec<T, N> {
    /// Creates an empty list that has room for so many.
    #[inline]
    pub(super) fn with_capacity(count: usize) -> Self {
        if count > N {
            Self::Heap(Vec::with_capacity(count))
        } else {
            Self::Inline(array::from_fn(|_| T::default()), 0)
        }
    }

    #[inline]
    pub(super) fn push(&mut self, item: T) {
        match self {
            Self::Inline(items, count) => match items.get_mut(*count) {
                Some(free) => {
                    *free = item;
                    *count += 1;
                }
                None => *self = Self::Heap(spilled(items, item)),
            },
            Self::Heap(items) => items.push(item),
        }
    }

    #[inline]
    pub(super) fn last_mut(&mut self) -> Option<&mut T> {
        match self {
            Self::Inline(items, count) => items.get_mut(count.checked_sub(1)?),
            Self::Heap(items) => items.last_mut(),
        }
    }
}

#[cold]
fn spilled<T: Default>(items: &mut [T], item: T) -> Vec<T> {
    let mut many = Vec::with_capacity(items.len() * 2 + 2);
    many.extend(items.iter_mut().map(take));
    many.push(item);
    many
}

impl<T, const N: usize> Deref for SmallVec<T, N> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Self::Inline(items, count) => items.get(..*count).unwrap_or_default(),
            Self::Heap(items) => items,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_keep_their_order_when_there_are_more() {
        for room in [0, 2, 3] {
            let mut list: SmallVec<usize, 2> = SmallVec::with_capacity(room);
            for number in 0..20 {
                assert_eq!(list.len(), number);
                list.push(number);
                assert_eq!(list.last_mut().copied(), Some(number));
                assert!(list.iter().copied().eq(0..=number));
            }
        }
    }
}
