/** Light or dark: as the system has it, unless the reader said otherwise. */
import { effect, signal } from '@preact/signals'

const choices = ['auto', 'light', 'dark'] as const
type Theme = (typeof choices)[number]

const place = 'fairlead-theme'
export const theme = signal(kept())

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
