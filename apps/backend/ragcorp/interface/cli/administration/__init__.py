"""migrate, config, doctor, backup, restore, keys, language, embeddings and reembed."""
