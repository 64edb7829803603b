"""SQL predicates for who may read which row. Every statement that reads rows uses them."""
