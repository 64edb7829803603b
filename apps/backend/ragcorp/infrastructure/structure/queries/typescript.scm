; inherits: ecmascript

(abstract_class_declaration name: (_) @name body: (_) @body) @definition.class
(interface_declaration name: (_) @name body: (_) @body) @definition.class
(enum_declaration name: (_) @name body: (_) @body) @definition.class
(type_alias_declaration name: (_) @name value: (_) @body) @definition.class.long
(internal_module name: (_) @name body: (_) @body) @definition.class
(module name: (_) @name body: (_) @body) @definition.class

(function_signature name: (_) @name) @definition.function
(class_body [
  (method_signature name: (_) @name)
  (abstract_method_signature name: (_) @name)
] @definition.method)
(public_field_definition name: (_) @name
  value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @definition.method

(public_field_definition name: (_) @name) @definition.field
(interface_body (property_signature name: (_) @name) @definition.field)
(type_alias_declaration value: (object_type (property_signature name: (_) @name) @definition.field))
(enum_body name: (_) @name @definition.field)
(enum_body (enum_assignment name: (_) @name) @definition.field)
(required_parameter (accessibility_modifier) pattern: (identifier) @name) @definition.attribute
(variable_declarator name: (identifier) @name value: (as_expression (object))) @definition.scope

(interface_body (method_signature name: (_) @name) @definition.member)

[(ambient_declaration) (expression_statement (internal_module))] @wrapper
