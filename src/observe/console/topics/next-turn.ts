/** Lets others have the event loop: a list of 50,000 Services must not keep connections waiting. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
