"""Links files on disk to stored documents, and the ledger of watched folders."""
