/** Lets others have the event loop: long work for many routes must not keep connections waiting. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
