"""From a PDF or a folder of page images to pages, embeddings and a FAISS index on disk."""
