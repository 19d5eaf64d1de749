/** Waits for a condition that real sockets bring about; fails with its name rather than with a test's time-out. */
export async function eventually(what: string, condition: () => boolean, deadlineMs = 10_000): Promise<void> {
  const endsAt = performance.now() + deadlineMs
  while (!condition()) {
    if (performance.now() > endsAt) throw new Error(`gave up waiting: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}
