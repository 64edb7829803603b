import { messages } from "../i18n/messages";

/** Why something did not do its part, by the code that the service gives; each text goes on after its name. */
const byCode = messages({
  es: {
    timeout: "no ha respondido a tiempo",
    request_timeout: "no ha respondido a tiempo",
    unavailable: "no responde",
    unreachable: "no responde: no se puede llegar hasta allí",
    connection_lost: "ha perdido la conexión",
    closed: "se está cerrando",
    error: "ha fallado",
    busy: "está ocupada con otras peticiones",
    pool_exhausted: "tiene todas las conexiones ocupadas",
    too_many_connections: "no admite más conexiones",
    circuit_open: "ha fallado varias veces seguidas; se vuelve a probar en unos segundos",
    rate_limited: "no admite más peticiones por ahora",
    unauthorized: "no acepta las credenciales con que la llama el servicio",
    server_error: "ha respondido con un error",
    bad_response: "ha respondido algo que no se entiende",
    invalid: "ha dado una lista que no sirve",
    invalid_vector: "ha dado vectores que no sirven",
    wrong_width: "da vectores de otro tamaño",
    wrong_order: "ha dado los vectores desordenados",
    wrong_count: "ha dado menos o más vectores de los pedidos",
    model_not_found: "no conoce el modelo configurado",
    too_long: "no admite textos tan largos",
    filtered: "ha retenido la respuesta",
    failed: "ha fallado",
    cut: "se ha cortado a mitad",
    read_only: "no admite cambios ahora",
    disk_full: "tiene el disco lleno",
    schema: "no tiene el esquema que pide esta versión",
    invalid_index: "tiene un índice que no vale",
    vector_width: "guarda vectores de otro modelo",
    text_search: "no tiene a punto la búsqueda de texto",
    row_security: "tiene permisos que no protegen los espacios de trabajo",
    privilege: "no da al servicio los permisos que necesita",
    stopping: "se está cerrando",
    starting: "está arrancando",
    circuit_half_open: "ha fallado varias veces seguidas; se está volviendo a probar",
    vectors_pending: "aún no lo encuentra todo: faltan vectores por hacer",
    statistics_stale: "ordena según un recuento de palabras anterior",
    no_embedder: "no hay modelo configurado",
    embedder_unavailable: "le falta el modelo de los vectores, que no responde",
    not_configured: "sin configurar",
    root_unavailable: "no puede leer una de sus carpetas",
    crashed: "se ha interrumpido",
    not_started: "no se ha podido arrancar",
  },
  en: {
    timeout: "did not answer in time",
    request_timeout: "did not answer in time",
    unavailable: "does not answer",
    unreachable: "does not answer: it cannot be reached",
    connection_lost: "lost its connection",
    closed: "is shutting down",
    error: "failed",
    busy: "is busy with other requests",
    pool_exhausted: "has all its connections in use",
    too_many_connections: "takes no more connections",
    circuit_open: "failed several times in a row; it is tried again in some seconds",
    rate_limited: "takes no more requests for now",
    unauthorized: "does not accept the service's credentials",
    server_error: "answered with an error",
    bad_response: "answered something that cannot be understood",
    invalid: "gave a list that is of no use",
    invalid_vector: "gave vectors that are of no use",
    wrong_width: "gives vectors of another size",
    wrong_order: "gave vectors out of order",
    wrong_count: "gave fewer or more vectors than asked",
    model_not_found: "does not know the configured model",
    too_long: "does not take texts as long as this",
    filtered: "withheld the answer",
    failed: "failed",
    cut: "was cut off half-way",
    read_only: "takes no changes now",
    disk_full: "has a full disk",
    schema: "does not have the schema that this version needs",
    invalid_index: "has an index that is not valid",
    vector_width: "holds vectors of another model",
    text_search: "does not have its text search ready",
    row_security: "has privileges that do not protect workspaces",
    privilege: "does not give the service the privileges that it needs",
    stopping: "is shutting down",
    starting: "is starting",
    circuit_half_open: "failed several times in a row; it is being tried again",
    vectors_pending: "does not find everything yet: vectors are still to be made",
    statistics_stale: "ranks by an earlier count of the words",
    no_embedder: "has no model configured",
    embedder_unavailable: "lacks the model of the vectors, which does not answer",
    not_configured: "is not configured",
    root_unavailable: "cannot read one of its folders",
    crashed: "broke off",
    not_started: "could not be started",
  },
});

/** Of some reasons the code is followed by what it is about: `filter:artifact_type`. */
const withSubject = messages({
  es: {
    filter: (fields: string) => `no conoce lo que piden los filtros (${fields})`,
    syntax: (name: string) => `no admite esta forma de escribir la consulta (${name})`,
    scope: (scope: string) => `tu clave no lo permite (le falta «${scope}»)`,
  },
  en: {
    filter: (fields: string) => `does not know what the filters ask for (${fields})`,
    syntax: (name: string) => `does not take this way of writing a query (${name})`,
    scope: (scope: string) => `your key does not allow it (it lacks “${scope}”)`,
  },
});

type Code = keyof ReturnType<typeof byCode>;
type Begun = keyof ReturnType<typeof withSubject>;

/** Return a reason in plain words; one that is not known is `otherwise`, by default its code. */
export function reasonText(reason: string, otherwise: string = reason): string {
  const known = byCode();
  if (Object.hasOwn(known, reason)) return known[reason as Code];
  const [begun = "", subject = ""] = reason.split(/:(.*)/s);
  const begins = withSubject();
  return Object.hasOwn(begins, begun) ? begins[begun as Begun](subject.trim()) : otherwise;
}
