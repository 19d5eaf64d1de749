/** Light or dark: as the system has it, unless the reader said otherwise. */
import { computed, effect, signal } from '@preact/signals'

const choices = ['auto', 'light', 'dark'] as const
type Theme = (typeof choices)[number]

const place = 'fairlead-theme'
const system = matchMedia('(prefers-color-scheme: dark)')
const isSystemDark = signal(system.matches)
system.addEventListener('change', ({ matches }) => (isSystemDark.value = matches))

export const theme = signal(kept())
/** For what CSS does not reach, such as a canvas. */
export const isDark = computed(() => (theme.value === 'auto' ? isSystemDark.value : theme.value === 'dark'))

effect(() => {
  document.documentElement.dataset['theme'] = theme.value
})

export function nextTheme(): void {
  theme.value = choices[(choices.indexOf(theme.value) + 1) % choices.length] ?? 'auto'
  try {
    localStorage.setItem(place, theme.value)
  } catch {
    // A browser may forbid it; then the choice holds until the page is closed.
  }
}

function kept(): Theme {
  try {
    const value = localStorage.getItem(place)
    return choices.find((choice) => choice === value) ?? 'auto'
  } catch {
    return 'auto'
  }
}
