/** How long a test waits for something that should come at once: long, for a machine that does much else. */
export const deadlineMs = 20_000
