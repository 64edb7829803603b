"""Pool, pipelines, parameter binding and error translation. No statement of a table family."""
