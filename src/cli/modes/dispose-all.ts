/** Ends each of them, in this order, also where one before it cannot be ended. Rejects with the first error, when all have been tried. */
export async function disposeAll(parts: readonly AsyncDisposable[]): Promise<void> {
  const errors: unknown[] = []
  for (const part of parts)
    try {
      await part[Symbol.asyncDispose]()
    } catch (error) {
      errors.push(error)
    }
  if (errors.length > 0) throw errors[0]
}
