"""Reports: self-contained HTML pages, and evidence for pages and terminals."""
