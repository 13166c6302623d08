"""Games in text as environments of libraries that train language models: a module for each library."""
