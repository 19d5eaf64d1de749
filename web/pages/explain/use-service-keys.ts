/** The names of all Services, once somebody wants them. They are heard once: a list that is a minute old suggests as well. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { follow } from '../../live/live.ts'

export function useServiceKeys(isWanted: boolean): readonly string[] {
  const keys = useSignal<readonly string[]>([])
  useEffect(() => {
    if (!isWanted) return undefined
    let heard: string[] = []
    const stop = follow('services', 'services', ({ isFirst, hasMore, rows }) => {
      if (isFirst === true) heard = []
      heard.push(...rows.map(({ key }) => key))
      if (hasMore === true) return
      keys.value = heard.sort()
      stop()
    })
    return stop
  }, [isWanted, keys])
  return keys.value
}
