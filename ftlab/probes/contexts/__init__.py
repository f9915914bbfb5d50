"""What belongs to a thread or a task, and gets lost where another one is started."""
