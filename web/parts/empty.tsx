/** Says that there is nothing, and why, in place of a hole. */
import type { ComponentChildren } from 'preact'
import { Icon } from './icon.tsx'
import type { IconName } from './icon.tsx'

interface EmptyProps {
  readonly icon: IconName
  readonly children: ComponentChildren
}

export function Empty({ icon, children }: EmptyProps) {
  return (
    <div class="empty">
      <Icon name={icon} />
      {children}
    </div>
  )
}
