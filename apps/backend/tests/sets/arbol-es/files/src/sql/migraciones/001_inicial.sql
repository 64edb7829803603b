-- Tablas de partida del servicio de pedidos.

CREATE TABLE comercios (
    id                uuid PRIMARY KEY,
    nif               text NOT NULL UNIQUE,
    razon_social      text NOT NULL,
    territorio_fiscal text NOT NULL CHECK (territorio_fiscal IN ('peninsula', 'baleares', 'canarias', 'ceuta', 'melilla')),
    huso              text NOT NULL DEFAULT 'Europe/Madrid',
    suspendido        boolean NOT NULL DEFAULT false,
    creado_en         timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE tiendas (
    id            uuid PRIMARY KEY,
    comercio_id   uuid NOT NULL REFERENCES comercios (id),
    direccion     text NOT NULL,
    codigo_postal text NOT NULL CHECK (codigo_postal ~ '^\d{5}$'),
    horario       jsonb NOT NULL DEFAULT '{}'
);

CREATE TABLE envios (
    id               uuid NOT NULL,
    localizador      text NOT NULL,
    comercio_id      uuid NOT NULL REFERENCES comercios (id),
    estado           text NOT NULL,
    peso_gramos      integer NOT NULL CHECK (peso_gramos BETWEEN 1 AND 30000),
    volumen_cm3      integer NOT NULL,
    importe_centimos integer NOT NULL CHECK (importe_centimos >= 0),
    version          integer NOT NULL DEFAULT 1,
    creado_en        timestamptz NOT NULL,
    PRIMARY KEY (id, creado_en)
) PARTITION BY RANGE (creado_en);

CREATE TABLE claves_vistas (
    comercio_id uuid NOT NULL,
    clave       text NOT NULL,
    resumen     text NOT NULL,
    respuesta   jsonb,
    creada_en   timestamptz NOT NULL,
    PRIMARY KEY (comercio_id, clave)
);
