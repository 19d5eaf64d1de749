/** The time, every second: for ages that grow while nothing else changes. */
import { useEffect, useState } from 'preact/hooks'

export function useNow(): number {
  const [nowMs, setNowMs] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [])
  return nowMs
}
