/** Waits for something that real sockets cause. It fails with a name rather than with the test's time-out. */
export async function eventually(what: string, condition: () => boolean, deadlineMs = 10_000): Promise<void> {
  const endsAt = performance.now() + deadlineMs
  while (!condition()) {
    if (performance.now() > endsAt) throw new Error(`gave up waiting: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}
