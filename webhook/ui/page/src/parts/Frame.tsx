/** What surrounds every view: the name, where to go, what is looked at, light or dark. */
import type { ComponentChildren } from "preact";
import { isPlain } from "./Link";
import { LiveRegion } from "./live";
import { useChoice, type Choice } from "./theme";

interface Target {
  label: string;
  href: string;
  current: boolean;
  act: () => void;
}

interface Props {
  navigation: readonly Target[];
  about: ComponentChildren;
  /** A field that finds things; absent in a report. */
  search?: ComponentChildren;
  children: ComponentChildren;
}

const CHOICES: readonly { choice: Choice; label: string }[] = [
  { choice: "system", label: "As the system" },
  { choice: "light", label: "Light" },
  { choice: "dark", label: "Dark" },
];

export function Frame({ navigation, about, search, children }: Props) {
  const [theme, setTheme] = useChoice();
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById("main")?.focus();
        }}
      >
        Skip to the content
      </a>
      <header class="top">
        <div class="top-inner">
          <span class="brand">
            <Mark />
            Evenkeel
          </span>
          {navigation.length > 0 && (
            <nav aria-label="Views">
              {navigation.map((target) => (
                <a
                  key={target.href}
                  href={target.href}
                  aria-current={target.current ? "page" : undefined}
                  data-testid={`nav-${target.label.split(" ")[0]?.toLowerCase() ?? ""}`}
                  onClick={(event) => {
                    if (!isPlain(event)) return;
                    event.preventDefault();
                    target.act();
                  }}
                >
                  {target.label}
                </a>
              ))}
            </nav>
          )}
          {search}
          <label class="theme">
            <span class="hidden">Light or dark</span>
            <select
              value={theme}
              data-testid="theme"
              onChange={(event) => {
                setTheme(event.currentTarget.value as Choice);
              }}
            >
              {CHOICES.map(({ choice, label }) => (
                <option key={choice} value={choice}>
                  {label}
                </option>
              ))}
            </select>
          </label>
        </div>
        <div class="about">{about}</div>
      </header>
      <main id="main" tabIndex={-1}>
        {children}
      </main>
      <LiveRegion />
    </>
  );
}

/** Three even bars on a keel. */
function Mark() {
  return (
    <svg class="mark" viewBox="0 0 24 24" aria-hidden="true">
      <rect x="4" y="5" width="4" height="9" rx="1" />
      <rect x="10" y="5" width="4" height="9" rx="1" />
      <rect x="16" y="5" width="4" height="9" rx="1" />
      <path d="M2 17h20c-1 3.2-3.6 5-7 5H9c-3.4 0-6-1.8-7-5z" />
    </svg>
  );
}
