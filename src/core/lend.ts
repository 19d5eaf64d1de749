/** One of something for all who need it: opened for the first of them, closed with the last. */
export interface Lent<T> extends AsyncDisposable {
  readonly it: T
}

/** What the first borrower asks for decides how it is opened. A failed opening is tried again by the next one. */
export function lend<T extends AsyncDisposable, Wish extends readonly unknown[]>(
  open: (...wish: Wish) => Promise<T>,
): (...wish: Wish) => Promise<Lent<T>> {
  let opened: Promise<T> | undefined
  let borrowers = 0

  /** Whether nobody is left. */
  const leave = (): boolean => {
    borrowers--
    if (borrowers === 0) opened = undefined
    return borrowers === 0
  }

  return async (...wish) => {
    borrowers++
    const opening = (opened ??= open(...wish))
    try {
      const it = await opening
      let isBorrowed = true
      return {
        it,
        async [Symbol.asyncDispose]() {
          if (!isBorrowed) return
          isBorrowed = false
          if (leave()) await it[Symbol.asyncDispose]()
        },
      }
    } catch (error) {
      if (opened === opening) opened = undefined
      leave()
      throw error
    }
  }
}
