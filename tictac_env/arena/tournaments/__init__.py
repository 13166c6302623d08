"""Games between policies: matches and tournaments, and the store that keeps them."""
