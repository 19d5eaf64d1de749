import { stdin } from 'node:process'

/** Single keys, as long as nobody disposes of it. Nothing where the input is no terminal. */
export function listenForKeys(onKey: (key: string) => void): Disposable {
  if (!stdin.isTTY) return { [Symbol.dispose]() {} }
  const onData = (data: Buffer) => {
    for (const key of data.toString()) onKey(key)
  }
  stdin.setRawMode(true)
  stdin.on('data', onData)
  return {
    [Symbol.dispose]() {
      stdin.off('data', onData)
      stdin.setRawMode(false)
      stdin.pause()
    },
  }
}
