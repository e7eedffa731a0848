#!/usr/bin/env bash
# Checks formatting, lints of each crate and feature, documentation, and the size of the standalone crates.
set -euo pipefail
cd "$(dirname "$0")/.."
export CLIPPY_CONF_DIR="$PWD/.ci"

# Fails if a package needs more than the given number of crates, itself included.
at_most() {
    local limit=$1 crates
    shift
    crates=$(cargo tree --locked "$@" --edges normal --prefix none | sed 's/ (.*)$//' | sort -u | wc -l)
    echo "$crates crates: $*"
    [ "$crates" -le "$limit" ] || { echo "error: more than $limit crates" >&2; exit 1; }
}

echo '== format'
cargo fmt --all --check

echo '== standalone crates'
at_most 25 -p robot-detection --no-default-features --features layer
at_most 10 -p robot-detection-robots-txt

echo '== no OpenSSL, no aws-lc'
if cargo tree --locked --workspace --all-features --edges normal --prefix none | grep -E '^(openssl(-sys)?|native-tls|aws-lc.*) v'; then
    echo "error: a dependency brings a second TLS library" >&2
    exit 1
fi

# Its lock file contains our crates and their dependencies, and no other step builds it.
echo '== the comparison bench'
cargo tree --quiet --locked --manifest-path benches/rivals/Cargo.toml > /dev/null

# Parts that applications build separately; each is compiled with its own dependencies, which takes a while.
# `.ci/check.sh alone` also checks the other parts, before a release.
echo '== separate crates and features'
crates=(robots-txt layer)
features=(layer admin)
if [ "${1:-}" = alone ]; then
    crates+=(http store site-robot)
    features+=(access-log html formats proxy store site-robot server)
fi
for crate in "${crates[@]}"; do
    cargo clippy --quiet --locked -p "robot-detection-$crate" -- -D warnings
done
for feature in "${features[@]}"; do
    cargo clippy --quiet --locked --no-default-features --features "$feature" -- -D warnings
done

echo '== lints'
cargo clippy --locked --workspace --all-targets --features acme -- -D warnings

echo '== documentation'
# With the features of the lints, whose dependencies are already compiled.
RUSTDOCFLAGS='-D warnings' cargo doc --locked --workspace --no-deps --features acme
